// Run by the editor, in plain Node, after the extension has been uninstalled. Nobody can be asked any more: it removes
// what only the extension used (its environments, and a daemon that one of them runs), and leaves the indexes, which shells
// and agents may use. `Sidecar: Remove Everything…` is for before, and takes those too.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { STORAGE_NOTE, endDaemon, installedPrograms, removeInstalled } from "./setup/remains";

async function main(): Promise<void> {
  const { storage } = JSON.parse(readFileSync(join(__dirname, "..", STORAGE_NOTE), "utf8")) as { storage: string };
  for (const program of await installedPrograms(storage, process.platform)) await endDaemon(program, process.env);
  await removeInstalled(storage);
}

main().catch((error: unknown) => {
  console.error(`Sidecar's environment was not removed: ${String(error)}`);
  process.exitCode = 1;
});
