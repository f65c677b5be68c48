import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { alone } from "../../../src/setup/lock";

const DEAD = "999999999";
let room: string;
beforeEach(() => (room = mkdtempSync(join(tmpdir(), "lock-"))));
afterEach(() => rmSync(room, { recursive: true }));

function lock(owner?: string): string {
  const folder = join(room, "a.lock");
  mkdirSync(folder);
  if (owner !== undefined) writeFileSync(join(folder, "owner"), owner);
  return folder;
}

const unheard = { waiting: (): void => undefined };

test.each([
  ["has died", DEAD],
  ["has not said who it is", undefined],
  ["has said nothing", ""],
  ["is no process", "somebody"],
])("a lock whose owner %s holds nobody up, and nothing of it is left", async (_, owner) => {
  const folder = lock(owner);
  expect(await alone(folder, () => Promise.resolve("done"), unheard)).toBe("done");
  expect(readdirSync(room)).toEqual([]);
});

test("a lock whose owner lives is waited for, and who gives up leaves it as it is", async () => {
  const folder = lock(String(process.pid));
  const stop = new AbortController();
  const waited: string[] = [];
  const waiting = (): void => {
    waited.push("waited");
    stop.abort();
  };
  await expect(
    alone(folder, () => Promise.resolve(waited.push("worked")), { waiting, signal: stop.signal }),
  ).rejects.toThrow();
  expect(waited).toEqual(["waited"]);
  expect(readFileSync(join(folder, "owner"), "utf8")).toBe(String(process.pid));
});

test("the lock is free after work that failed", async () => {
  const folder = join(room, "a.lock");
  await expect(alone(folder, () => Promise.reject(new Error("no")), unheard)).rejects.toThrow("no");
  expect(existsSync(folder)).toBe(false);
});

const WAITING_MS = 30_000;

test(
  "of two who see one dead owner, the later one waits for the earlier one's work",
  async () => {
    const folder = lock(DEAD);
    const events: string[] = [];
    const gates = new Map<string, () => void>();
    const reached = (gate: string): Promise<void> => new Promise((go) => gates.set(gate, go));
    const laterGoesOn = reached("later goes on");
    const earlierEnds = reached("earlier ends");
    const laterWaits = reached("later waits");
    const laterHasSeen = reached("later has seen");
    const isOwner = (id: number): boolean => id !== Number(DEAD);

    const later = alone(folder, () => Promise.resolve(events.push("later")), {
      waiting: () => gates.get("later waits")?.(),
      lives: async (id) => {
        gates.get("later has seen")?.();
        await laterGoesOn;
        return isOwner(id);
      },
    });
    await laterHasSeen;
    const earlier = alone(
      folder,
      async () => {
        gates.get("later goes on")?.();
        await earlierEnds;
        events.push("earlier");
      },
      { waiting: () => undefined, lives: isOwner },
    );
    await laterWaits;
    gates.get("earlier ends")?.();
    await Promise.all([earlier, later]);
    expect(events).toEqual(["earlier", "later"]);
    expect(readdirSync(room)).toEqual([]);
  },
  WAITING_MS,
);

test(
  "of many who see at once that the owner has died, one at a time works",
  async () => {
    const [rounds, each] = [10, 3];
    let [most, done] = [0, 0];
    const contend = async (round: number): Promise<void> => {
      const folder = join(room, `${round}.lock`);
      mkdirSync(folder);
      writeFileSync(join(folder, "owner"), DEAD);
      let working = 0;
      const work = async (): Promise<void> => {
        most = Math.max(most, ++working);
        for (let turns = 0; turns < 20; turns++) await turn();
        working--;
        done++;
      };
      await Promise.all(Array.from({ length: each }, () => alone(folder, work, unheard)));
    };
    await Promise.all(Array.from({ length: rounds }, (_, round) => contend(round)));
    expect([most, done]).toEqual([1, rounds * each]);
    expect(readdirSync(room)).toEqual([]);
  },
  WAITING_MS,
);
