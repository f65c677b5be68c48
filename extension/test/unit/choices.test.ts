import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { ExtensionContext } from "vscode";
import { lastingChoices } from "../../src/choices";
import { LASTING } from "../../src/lasting";
import type { Log } from "../../src/log";
import { memoryOf } from "./memory";

const made: string[] = [];
const FOLDER = "file:///home/x/zoo";
const FORMER = ["sidecar.offeredIndex", "sidecar.activityEverything"];

function storage(): string {
  const folder = mkdtempSync(join(tmpdir(), "sidecar-choices-"));
  made.push(folder);
  return folder;
}

const formerly = () =>
  new Map<string, unknown>([
    ["sidecar.offeredIndex", [FOLDER]],
    ["sidecar.activityEverything", true],
  ]);

/** What a window knows that the editor gives this storage, in which earlier versions have kept that. */
function window(fsPath: string, kept: Map<string, unknown>) {
  const context = { workspaceState: memoryOf(kept), globalStorageUri: { fsPath } };
  return lastingChoices(context as unknown as ExtensionContext, { warn: () => undefined } as unknown as Log).file;
}

afterEach(() => made.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

test("choices that an earlier version kept hold, and are gone for good when everything is removed", () => {
  const [folder, kept] = [storage(), formerly()];
  const open = window(folder, kept);
  expect(open.value).toEqual({ never: [FOLDER], agents: { everything: true } });
  expect([...kept.keys()].filter((key) => FORMER.includes(key))).toEqual([]);
  rmSync(join(folder, LASTING), { recursive: true });
  open.reload();
  for (const one of [open, window(folder, kept)]) {
    expect(one.value.never).toEqual([]);
    expect(one.value.agents.everything).not.toBe(true);
  }
});

test("what was chosen since counts before what an earlier version kept of another window", () => {
  const folder = storage();
  window(folder, new Map()).change(() => ({ never: ["file:///other"], agents: { everything: false } }));
  const { never, agents } = window(folder, formerly()).value;
  expect([never, agents]).toEqual([["file:///other", FOLDER], { everything: false }]);
});

test("former choices that cannot be stored elsewhere hold in this window, and stay where they are", () => {
  const [folder, kept] = [storage(), formerly()];
  writeFileSync(join(folder, LASTING), "");
  expect(window(folder, kept).value).toEqual({ never: [FOLDER], agents: { everything: true } });
  expect([...kept.keys()]).toEqual(expect.arrayContaining(FORMER));
});
