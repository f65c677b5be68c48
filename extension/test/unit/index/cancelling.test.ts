import { readFileSync } from "node:fs";
import { beforeEach, expect, test } from "vitest";
import type { Features } from "../../../src/features";
import { Builds } from "../../../src/index/builds";
import { CancelKey } from "../../../src/index/cancelling";
import { registerCommands } from "../../../src/index/commands";
import type { FolderStatus } from "../../../src/protocol.gen";
import type { Sidecar } from "../../../src/sidecar";
import { EventEmitter, commands, window, workspace } from "../../mocks/vscode";

type Status = Partial<FolderStatus>;

const uriOf = (name: string) => `file:///work/${name}`;

/** Open folders with these states. Each call waits for its answer. */
function editor(folders: Record<string, Status>) {
  workspace.workspaceFolders = Object.keys(folders).map((name) => ({
    name,
    uri: { scheme: "file", fsPath: `/work/${name}`, toString: () => uriOf(name) },
  }));
  const statuses = new Map(Object.entries(folders).map(([name, status]) => [uriOf(name), status]));
  const changes = new EventEmitter<unknown>();
  const calls: { folder: string; answer: (cancelled: boolean) => void }[] = [];
  const call = (_method: string, { workspace: folder }: { workspace: string }) =>
    new Promise((settle) => {
      calls.push({ folder, answer: (cancelled) => settle({ cancelled }) });
    });
  const events = { onStatus: changes.event, onDidChangeState: new EventEmitter<unknown>().event };
  const sidecar = { statuses, call, ...events } as unknown as Sidecar;
  const builds = new Builds();
  registerCommands({ sidecar } as Features, builds);
  return {
    sidecar,
    builds,
    calls,
    cancel: (given?: string) => commands.registered.get("sidecar.cancelIndexing")?.(given),
    becomes: (name: string, status: Status) => {
      statuses.set(uriOf(name), status);
      changes.fire(status);
    },
  };
}

const said = () => window.messages.map(({ text }) => text);
const INDEXING: Status = { status: "indexing" };
const ELSEWHERE: Status = { ...INDEXING, elsewhere: true };

beforeEach(() => {
  window.messages.splice(0);
  commands.contexts.clear();
});

test("all open folders are cancelled at once, without waiting for the first to end", async () => {
  const { cancel, calls } = editor({ one: INDEXING, two: INDEXING, three: { status: "ready" } });
  const done = cancel();
  expect(calls.map(({ folder }) => folder)).toEqual([uriOf("one"), uriOf("two")]);
  for (const { answer } of calls) answer(true);
  await done;
  expect(said()).toEqual([]);
});

test("what another process indexes cannot be cancelled here, and a sentence says so", async () => {
  const { cancel, calls } = editor({ one: { status: "ready" }, two: ELSEWHERE });
  await cancel();
  expect(calls).toEqual([]);
  expect(said()).toEqual(['Sidecar: another process is indexing "two", and only that process can cancel it.']);
});

test("a sentence says that nothing was cancelled where the indexing has just ended", async () => {
  const { cancel, calls } = editor({ one: INDEXING });
  const done = cancel(uriOf("one"));
  await expect.poll(() => calls.length).toBe(1);
  calls[0]?.answer(false);
  await done;
  expect(said()).toEqual(["Sidecar: there was no indexing to cancel."]);
});

test("a folder that was closed since its page was shown is said not to be open", async () => {
  const { cancel, calls } = editor({ one: INDEXING });
  await cancel(uriOf("closed"));
  expect(calls).toEqual([]);
  expect(said()).toEqual(["Sidecar: this folder is not open in this window any more."]);
});

test("Cancel Indexing is offered while any open folder can be cancelled here, whoever has begun it", async () => {
  const { sidecar, builds, becomes } = editor({ shown: { status: "ready" }, other: ELSEWHERE });
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as {
    contributes: { commands: { command: string; enablement?: string }[] };
  };
  const { enablement } = contributes.commands.find(({ command }) => command === "sidecar.cancelIndexing") ?? {};
  const isOffered = () => commands.contexts.get(enablement);
  const key = new CancelKey(sidecar, builds);
  expect(isOffered()).toBe(false);
  becomes("other", INDEXING);
  expect(isOffered()).toBe(true);
  becomes("other", { status: "ready" });
  expect(isOffered()).toBe(false);
  const build = builds.during(uriOf("shown"), () => Promise.resolve());
  expect(isOffered()).toBe(true);
  await build;
  expect(isOffered()).toBe(false);
  key.dispose();
});
