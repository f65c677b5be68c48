// What Sidecar has made on this machine, and its removal. Knows nothing of the editor: the script that runs when the
// extension is uninstalled uses it too.
import { execFile } from "node:child_process";
import { readdir, rm, rmdir } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** The folders that sidecar makes in its data folder; anything else there belongs to somebody else. */
const OWN = ["indexes", "vectors", "run", "logs", "models", "serve"];

/** Beside the extension, with the folder that the editor gave it to keep things in: for the script that knows no editor. */
export const STORAGE_NOTE = "storage.json";

/** Where sidecar keeps indexes, vectors, models, memories and documents. */
export function dataFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform, home = homedir()): string {
  const { SIDECAR_HOME, LOCALAPPDATA, XDG_DATA_HOME } = env;
  if (isSet(SIDECAR_HOME)) return SIDECAR_HOME;
  if (platform === "darwin") return join(home, "Library/Application Support/sidecar");
  if (platform === "win32") return join(LOCALAPPDATA ?? join(home, "AppData/Local"), "sidecar");
  return join(isSet(XDG_DATA_HOME) ? XDG_DATA_HOME : join(home, ".local/share"), "sidecar");
}

/** An empty variable counts as not set. */
function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

/** Ends the process that editors, agents and shells share, if it runs. Never rejects. */
export function endDaemon(program: string, env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((settle) => {
    execFile(program, ["daemon", "stop"], { env, timeout: 30_000, windowsHide: true }, () => settle());
  });
}

/** The programs that were installed below the extension's own folder. */
export async function installedPrograms(storage: string, platform: NodeJS.Platform): Promise<string[]> {
  const all = join(storage, "environments");
  const inside = platform === "win32" ? "Scripts/sidecar.exe" : "bin/sidecar";
  return (await readdir(all).catch(() => []))
    .filter((name) => !name.endsWith(".lock"))
    .map((name) => join(all, name, inside));
}

/** Removes the private environments and what starts them. */
export async function removeInstalled(storage: string): Promise<void> {
  for (const name of ["environments", "sidecar", "sidecar.cmd"])
    await rm(join(storage, name), { recursive: true, force: true, maxRetries: 3 });
}

/** Removes what sidecar has made in its data folder, and that folder if nothing else is in it. */
export async function removeData(folder: string): Promise<void> {
  for (const name of OWN) await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 });
  await rmdir(folder).catch(() => undefined);
}
