import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Environment, type Parts, type Report, type Wheel } from "../../../src/setup/environment";
import type { Run } from "../../../src/setup/run";

let storage: string;
beforeEach(() => (storage = mkdtempSync(join(tmpdir(), "env-"))));
afterEach(() => rmSync(storage, { recursive: true }));

const carried = (sha256: string): Wheel => ({
  file: "/bundled/sidecar.whl",
  sha256,
  requirements: "/bundled/requirements.txt",
  megabytes: { fetched: 100, installed: 300 },
});

const touch = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
};

const TIDYING = new Set(["uninstall", "sidecar.lean"]);

/** `venv` makes a Python, `pip` the sidecar, unless told to fail. */
class FakeMachine {
  readonly ran: string[] = [];
  asked: readonly string[] = [];
  readonly tidied: (readonly string[])[] = [];
  tidy = { status: 0, output: "" };
  pip: () => { status: number; output: string } = () => ({ status: 0, output: "" });
  run: Run = (command, args, options) => {
    const folder = args.at(-1);
    if (args.includes("venv") && folder !== undefined) {
      this.ran.push("venv");
      touch(join(folder, "bin/python"));
      return Promise.resolve({ status: 0, output: "" });
    }
    if (args.some((word) => TIDYING.has(word))) {
      this.tidied.push(args);
      return Promise.resolve(this.tidy);
    }
    this.ran.push("pip");
    this.asked = args;
    const result = this.pip();
    if (result.status === 0) touch(join(dirname(command), "sidecar"));
    options?.onLine?.("  Downloading numpy-2.4.6-cp311.whl (16.5 MB)");
    return Promise.resolve(result);
  };
}

function environment(machine: FakeMachine, changes: Partial<Parts> = {}): Environment {
  return new Environment({
    storage,
    wheel: carried("a"),
    wanted: "",
    platform: "linux",
    run: machine.run,
    findPython: () => Promise.resolve({ command: "python3", version: "3.11" }),
    ...changes,
  });
}

/** The machine, which reports when pip is to run, and then waits. */
function heldAtPip(machine: FakeMachine): { run: Run; arrival: Promise<void>; goOn: () => void } {
  let [goOn, arrived] = [(): void => undefined, (): void => undefined];
  const goesOn = new Promise<void>((go) => (goOn = go));
  const arrival = new Promise<void>((here) => (arrived = here));
  const run: Run = async (command, args, options) => {
    if (args.includes("install")) {
      arrived();
      await goesOn;
    }
    return machine.run(command, args, options);
  };
  return { run, arrival, goOn: () => goOn() };
}

function report(): Report & { steps: string[] } {
  const steps: string[] = [];
  return { steps, step: (message) => steps.push(message), log: () => undefined, signal: new AbortController().signal };
}

test("it is made once, in steps that a person can follow, and is complete then", async () => {
  const machine = new FakeMachine();
  const room = environment(machine);
  expect(await room.isComplete()).toBe(false);
  const told = report();
  await room.make(told);
  expect(await room.isComplete()).toBe(true);
  expect(told.steps).toContain("Fetching numpy: 0 of 100 MB");
  const exact = ["--no-deps", "--require-hashes", "-r", "/bundled/requirements.txt"];
  for (const word of [...exact, "file:///bundled/sidecar.whl#sha256=a"]) expect(machine.asked).toContain(word);
  await environment(machine).make(report());
  expect(machine.ran).toEqual(["venv", "pip"]);
});

test("it is made lean, by its own Python and by its own name, after pip has gone", async () => {
  const machine = new FakeMachine();
  const room = environment(machine);
  await room.make(report());
  expect(machine.tidied.map((args) => args.includes("uninstall"))).toEqual([true, false]);
  expect(machine.tidied.at(-1)).toEqual(["-I", "-m", "sidecar.lean", room.folder]);
});

test("one that could not be made lean is complete nevertheless", async () => {
  const machine = new FakeMachine();
  machine.tidy = { status: 1, output: "No module named sidecar.lean" };
  const room = environment(machine);
  await room.make(report());
  expect(await room.isComplete()).toBe(true);
});

test("two windows at once make it once: the second waits and finds it", async () => {
  const machine = new FakeMachine();
  await Promise.all([environment(machine).make(report()), environment(machine).make(report())]);
  expect(machine.ran).toEqual(["venv", "pip"]);
});

test("a lock whose owner has died holds nobody up", async () => {
  const machine = new FakeMachine();
  const room = environment(machine);
  mkdirSync(`${room.folder}.lock`, { recursive: true });
  writeFileSync(join(`${room.folder}.lock`, "owner"), "999999999");
  await room.make(report());
  expect(await room.isComplete()).toBe(true);
});

test("another wheel or another chosen Python is another environment", () => {
  const machine = new FakeMachine();
  const folders = [
    environment(machine),
    environment(machine, { wheel: carried("b") }),
    environment(machine, { wanted: "/my/python" }),
  ].map((room) => room.folder);
  expect(new Set(folders).size).toBe(3);
});

test("one that failed is not complete, is not locked, and is made anew the next time", async () => {
  const machine = new FakeMachine();
  machine.pip = () => ({ status: 1, output: "ConnectTimeout" });
  const room = environment(machine);
  await expect(room.make(report())).rejects.toMatchObject({ kind: "network" });
  expect(await room.isComplete()).toBe(false);
  machine.pip = () => ({ status: 0, output: "" });
  await room.make(report());
  expect(await room.isComplete()).toBe(true);
});

test("cancelling is told as that, and leaves nothing behind", async () => {
  const stop = new AbortController();
  const machine = new FakeMachine();
  machine.pip = () => {
    stop.abort();
    return { status: 1, output: "" };
  };
  const room = environment(machine);
  await expect(room.make({ ...report(), signal: stop.signal })).rejects.toMatchObject({ kind: "cancelled" });
  expect(existsSync(room.folder)).toBe(false);
});

test("who gives up waiting for another window removes nothing of what that one is making", async () => {
  const machine = new FakeMachine();
  const stop = new AbortController();
  const { run, arrival, goOn } = heldAtPip(machine);
  const first = environment(machine, { run });
  const made = first.make(report());
  await arrival;
  const second = { ...report(), step: () => stop.abort(), signal: stop.signal };
  await expect(environment(machine).make(second)).rejects.toMatchObject({ kind: "cancelled" });
  expect(existsSync(join(first.folder, "bin/python"))).toBe(true);
  goOn();
  await made;
  expect(await first.isComplete()).toBe(true);
  expect(machine.ran).toEqual(["venv", "pip"]);
});

test("one that is to be made anew is removed after another window has made it, not while it does", async () => {
  const machine = new FakeMachine();
  const events: string[] = [];
  const { run, arrival, goOn } = heldAtPip(machine);
  const room = environment(machine, { run });
  const made = room.make(report()).then(() => events.push("made"));
  await arrival;
  const forgotten = environment(machine)
    .forget(() => goOn())
    .then(() => events.push("forgotten"));
  await Promise.all([made, forgotten]);
  expect(events).toEqual(["made", "forgotten"]);
  expect(existsSync(room.folder)).toBe(false);
});

test("the launcher follows the environment in use, and those not used for long are removed", async () => {
  const machine = new FakeMachine();
  const [old, now] = [environment(machine, { wanted: "/old" }), environment(machine)];
  await old.make(report());
  await now.make(report());
  await old.used();
  const long = new Date(Date.now() - 30 * 86_400_000);
  utimesSync(join(old.folder, "complete"), long, long);
  await now.used();
  expect(existsSync(old.folder)).toBe(false);
  expect(readFileSync(now.launcher, "utf8")).toContain(now.program);
});
