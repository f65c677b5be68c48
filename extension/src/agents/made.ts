// What writing an agent's file makes: the file and the folders on its path. It can be taken away without touching what
// others have put into these folders since: an agent keeps its credentials and sessions beside its settings.
import { dirname } from "node:path/posix";
import type { FileSystem, Uri } from "vscode";

export type Files = Pick<FileSystem, "stat" | "readDirectory" | "delete">;

/** The file and the folders on its path that are not there, from the inside outwards. Empty if the file is there. */
export async function madeFor(files: Files, file: Uri): Promise<readonly Uri[]> {
  const around = dirname(file.path);
  if (around === file.path || !(await isMissing(files, file))) return [];
  return [file, ...(await madeFor(files, file.with({ path: around })))];
}

/** Removes the file, and of the folders those that are empty. `made`: see `madeFor`; the file is its first member. */
export async function takeAway(files: Files, made: readonly Uri[]): Promise<void> {
  const [file, ...folders] = made;
  if (file !== undefined) await files.delete(file);
  for (const folder of folders) if (!(await goesIfEmpty(files, folder))) return;
}

async function goesIfEmpty(files: Files, folder: Uri): Promise<boolean> {
  try {
    if ((await files.readDirectory(folder)).length > 0) return false;
    // Not recursively, so that it stays if somebody has just put something there.
    await files.delete(folder, { recursive: false });
    return true;
  } catch {
    return false;
  }
}

async function isMissing(files: Files, place: Uri): Promise<boolean> {
  try {
    await files.stat(place);
    return false;
  } catch (error) {
    return (error as { code?: unknown }).code === "FileNotFound";
  }
}
