// The sidecar that the extension carries: `bundled/wheel.json` names the wheel beside it, the list of what that needs, and
// how much both are.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Wheel } from "./environment";
import { SetUpProblem } from "./problem";

export async function carriedWheel(extensionFolder: string): Promise<Wheel> {
  const folder = join(extensionFolder, "bundled");
  try {
    const carried = JSON.parse(await readFile(join(folder, "wheel.json"), "utf8")) as Wheel;
    return { ...carried, file: join(folder, carried.file), requirements: join(folder, carried.requirements) };
  } catch {
    const message =
      "This build of the extension contains no sidecar. Install it yourself, and name it in the setting sidecar.path.";
    throw new SetUpProblem("no-program", message);
  }
}
