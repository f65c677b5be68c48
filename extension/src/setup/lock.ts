// One window at a time: a folder that only one process can make, with its owner's id in it.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const LOOK_MS = 300;

/** Waits while a living process has the lock; then runs the work alone. `waiting` is called once if it has to wait. */
export async function alone<T>(
  folder: string,
  work: () => Promise<T>,
  waiting: () => void,
  signal?: AbortSignal,
): Promise<T> {
  await mkdir(dirname(folder), { recursive: true });
  for (let hasSaid = false; !(await taken(folder)); hasSaid = true) {
    if (!hasSaid) waiting();
    await pause(LOOK_MS, undefined, { ...(signal && { signal }) });
  }
  try {
    return await work();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function taken(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
  } catch {
    if (await ownerLives(folder)) return false;
    await rm(folder, { recursive: true, force: true });
    return taken(folder);
  }
  await writeFile(join(folder, "owner"), String(process.pid));
  return true;
}

async function ownerLives(folder: string): Promise<boolean> {
  // A folder without an owner was made just now, or its maker died in between; a second look decides.
  let owner = await readFile(join(folder, "owner"), "utf8").catch(() => undefined);
  if (owner === undefined) {
    await pause(LOOK_MS);
    owner = await readFile(join(folder, "owner"), "utf8").catch(() => undefined);
  }
  if (owner === undefined) return false;
  try {
    process.kill(Number(owner), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
