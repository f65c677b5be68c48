// One window at a time: a folder that only one process can make, with its owner in it. It appears together with its owner
// and disappears at once, because it is filled and emptied under a name that no other process uses.
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const LOOK_MS = 300;
const OWNER = "owner";
/** What `rename` answers where the folder is there, or where another program just looks into it (on Windows). */
const IN_THE_WAY: ReadonlySet<unknown> = new Set(["EEXIST", "ENOTEMPTY", "EPERM", "EACCES", "EBUSY"]);
const FREEING_TRIES = 10;

type Lives = (id: number) => boolean | Promise<boolean>;

export interface Contending {
  /** Called once if it has to wait. */
  waiting: () => void;
  /** Aborting it ends the waiting. */
  signal?: AbortSignal;
  /** Whether a process lives. */
  lives?: Lives;
}

/** Waits while a living process has the lock; then runs the work alone. */
export async function alone<T>(folder: string, work: () => Promise<T>, contending: Contending): Promise<T> {
  const { waiting, signal, lives = isAlive } = contending;
  await mkdir(dirname(folder), { recursive: true });
  for (let hasSaid = false; !(await taken(folder, lives)); hasSaid = true) {
    if (!hasSaid) waiting();
    await pause(LOOK_MS, undefined, { ...(signal && { signal }) });
  }
  try {
    return await work();
  } finally {
    await free(folder);
  }
}

/**
 * Takes the lock if it is free or its owner is dead. Several may see one dead owner. Its lock is removed only by the one
 * who has the lock on that owner's lock, after another look, so nobody removes the lock of the one who came first.
 */
async function taken(folder: string, lives: Lives): Promise<boolean> {
  const owner = await ownerOf(folder);
  if (owner === undefined) return made(folder);
  if (await lives(processOf(owner))) return false;
  const inheritance = `${folder}.${createHash("sha256").update(owner).digest("hex").slice(0, 12)}`;
  if (!(await taken(inheritance, lives))) return false;
  try {
    if ((await ownerOf(folder)) === owner) await free(folder);
  } finally {
    await free(inheritance);
  }
  return made(folder);
}

/** Returns false if somebody else has made it. */
async function made(folder: string): Promise<boolean> {
  const aside = `${folder}.${randomUUID()}`;
  await mkdir(aside);
  await writeFile(join(aside, OWNER), `${process.pid} ${randomUUID()}`);
  // Without an owner it is no lock: somebody died as it was made. One with an owner is not empty, and stays.
  await rmdir(folder).catch(() => undefined);
  try {
    await rename(aside, folder);
    return true;
  } catch (error) {
    await rm(aside, { recursive: true, force: true });
    if (isInTheWay(error)) return false;
    throw error;
  }
}

async function free(folder: string): Promise<void> {
  const aside = `${folder}.${randomUUID()}`;
  for (let left = FREEING_TRIES; left > 0; left--) {
    try {
      await rename(folder, aside);
      break;
    } catch (error) {
      // Whoever removes the whole storage removes the lock too.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      if (left === 1 || !isInTheWay(error)) throw error;
      await pause(LOOK_MS / FREEING_TRIES);
    }
  }
  await rm(aside, { recursive: true, force: true });
}

/** Undefined: there is no lock, or one that has no owner. */
async function ownerOf(folder: string): Promise<string | undefined> {
  return readFile(join(folder, OWNER), "utf8").catch(() => undefined);
}

/** The process that an owner is; 0 if it names none. */
function processOf(owner: string): number {
  const id = Number.parseInt(owner, 10);
  return Number.isSafeInteger(id) && id > 0 ? id : 0;
}

function isAlive(id: number): boolean {
  // To the system, 0 is this process and its relatives.
  if (id === 0) return false;
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function isInTheWay(error: unknown): boolean {
  return IN_THE_WAY.has((error as NodeJS.ErrnoException).code);
}
