import { expect, test } from "vitest";
import { canCancel, offersFor } from "../../../src/index/offers";
import { counted, grouped } from "../../../src/counts";
import { conditionOf, shown, sizeText } from "../../../src/index/state";
import type { IndexStatus } from "../../../src/protocol.gen";
import type { State } from "../../../src/sidecar";
import { ago, duration } from "../../../src/time";

const NOW = Date.parse("2026-01-02T12:00:00Z");
const READY: Partial<IndexStatus> = {
  status: "ready",
  totalFiles: 1234,
  codeFiles: 1200,
  docsFiles: 34,
  totalChunks: 12345,
  coverage: 1,
  pendingFiles: 0,
  model: "static-code-256@bfc36c59b3c7",
  device: "cpu",
  storageSize: "45MB",
  lastUpdated: "2026-01-02T11:55:00Z",
};

const UPGRADE = {
  model: "minilm-code-int8@3ca3917fbc5b",
  done: 4408,
  total: 10252,
  percent: 42,
  secondsLeft: 80,
};

test.each<[string, State, Partial<IndexStatus> | undefined]>([
  ["off", "stopped", READY],
  ["starting", "starting", READY],
  ["starting", "running", undefined],
  ["broken", "failed", READY],
  ["missing", "running", { status: "not_found" }],
  ["indexing", "running", { ...READY, status: "indexing" }],
  ["unfinished", "running", { ...READY, status: "incomplete", coverage: 0.4, unfinished: true }],
  ["partial", "running", { ...READY, status: "incomplete", workspaceFiles: 1235, pendingFiles: 1 }],
  ["partial", "running", { ...READY, status: "incomplete", workspaceFiles: 1234, coverage: 0.4 }],
  ["partial", "running", { ...READY, coverage: 0.99 }],
  ["stale", "running", { ...READY, pendingFiles: 3 }],
  ["stale", "running", { ...READY, behind: true }],
  ["failed", "running", { ...READY, status: "failed" }],
  ["upgrading", "running", { ...READY, modelUpgrade: UPGRADE }],
  ["stale", "running", { ...READY, pendingFiles: 3, modelUpgrade: UPGRADE }],
  ["ready", "running", READY],
])("an index is %s", (condition, state, status) => {
  expect(conditionOf(state, status)).toBe(condition);
});

test("indexing shows percent and time left, once that can be told", () => {
  const text = (progress: IndexStatus["progress"]) =>
    shown("running", { status: "indexing", ...(progress && { progress }) }, undefined, NOW).text;
  expect(text(undefined)).toBe("$(sync~spin) Indexing");
  expect(text({ done: 0, total: 100, says: "Indexing: 0 of 100 files", percent: 0 })).toBe("$(sync~spin) Indexing 0 %");
  expect(text({ done: 42, total: 100, says: "Indexing: 42 of 100 files", percent: 42, secondsLeft: 80 })).toBe(
    "$(sync~spin) Indexing 42 %, 2 min left",
  );
});

test("while a second model takes over, how far it is is told", () => {
  const { text, severity, tooltip } = shown("running", { ...READY, modelUpgrade: UPGRADE }, undefined, NOW);
  expect([text, severity]).toEqual(["$(check) Model upgrade 42 %", "none"]);
  expect(tooltip).toContain("minilm-code-int8: 42 % of 10,252 chunks, 2 min left");
  const stuck = { ...UPGRADE, note: "The disk is full." };
  expect(shown("running", { ...READY, modelUpgrade: stuck }, undefined, NOW).tooltip).toContain("The disk is full.");
});

test("the tooltip tells files, chunks, model, device and size", () => {
  const { tooltip } = shown("running", READY, undefined, NOW);
  for (const part of ["1,234", "12,345", "static-code-256 ", "processor", "45 MB", "5 min ago"])
    expect(tooltip).toContain(part);
});

test("what hinders is told, and said to screen readers", () => {
  const broken = shown("failed", undefined, "No Python was found.", NOW);
  expect(broken.tooltip).toContain("No Python was found.");
  expect(broken.severity).toBe("error");
  expect(shown("running", { status: "not_found" }, undefined, NOW).spoken).toMatch(/^Sidecar: Not indexed\. /);
  expect(shown("running", { ...READY, warning: "Held elsewhere." }, undefined, NOW).tooltip).toContain(
    "Held elsewhere.",
  );
});

test.each([
  ["missing", "sidecar.createIndex"],
  ["failed", "sidecar.reindexProject"],
  ["partial", "sidecar.showIndexStatus"],
  ["unfinished", "sidecar.createIndex"],
  ["broken", "sidecar.restart"],
  ["off", "sidecar.restart"],
] as const)("an index that is %s is offered what helps", (condition, command) => {
  expect(offersFor(condition, true, false).map(({ id }) => id)).toContain(command);
  expect(offersFor(condition, false, true).map(({ id }) => id)).toEqual(["workbench.trust.manage"]);
});

test("numbers, sizes and times are for people", () => {
  expect([0, 1, 1000].map((count) => counted(count, "file"))).toEqual(["0 files", "1 file", "1,000 files"]);
  expect([0, 999, 1000, 1234567].map(grouped)).toEqual(["0", "999", "1,000", "1,234,567"]);
  expect(sizeText("2.2MB")).toBe("2.2 MB");
  expect([0.2, 8, 59.5, 61, 3600, 4800].map(duration)).toEqual(["1 s", "8 s", "60 s", "2 min", "1 h", "1 h 20 min"]);
  const hours = (count: number) => ago(NOW - count * 3_600_000, NOW);
  expect([0, 0.5, 3, 25, 72].map(hours)).toEqual(["just now", "30 min ago", "3 h ago", "yesterday", "3 days ago"]);
});

test("what this process indexes can be cancelled in every window, and what another one does in none", () => {
  const titles = (status: Parameters<typeof canCancel>[0], begun = false) =>
    offersFor("indexing", true, canCancel(status, begun)).map(({ title }) => title);
  expect(titles({ status: "indexing" })).toContain("Cancel");
  expect(titles({ status: "indexing", elsewhere: true })).not.toContain("Cancel");
  expect(titles({ status: "not_found" }, true)).toContain("Cancel");
  expect(titles({ status: "ready" })).not.toContain("Cancel");
});

test("of a folder that is not there one sentence is said", () => {
  const error = "Changes could not be indexed (Workspace folder not found.); sidecar will try again.";
  const facts = { ...READY, gone: true, behind: true, pendingFiles: 31, notice: "31 changed paths.", warning: error };
  const view = shown("running", facts, "It would start from a snapshot.", NOW);
  expect([view.condition, view.text, view.severity]).toEqual(["gone", "$(warning) Folder not found", "warning"]);
  expect(view.says).toBe("The folder is not there now, and is searched again when it is back.");
  expect(view.tooltip).toMatch(/^\*\*Sidecar\*\*\n\nThe folder is not there now, and [^|.]+\.\n\n\|/);
  expect(offersFor("gone", true, false).map(({ id }) => id)).toEqual(["sidecar.showIndexStatus"]);
});

test("files that have not been read count as missing, and so do chunks without a vector", () => {
  const text = (facts: object) => shown("running", { status: "incomplete", ...facts }, undefined, 0).text;
  expect(text({ coverage: 1, totalFiles: 128, workspaceFiles: 2048 })).toContain("Partial 6 %");
  expect(text({ coverage: 0.5, totalFiles: 100, workspaceFiles: 100 })).toContain("Partial 50 %");
});

test("without a model that can be loaded the item says that words are found, and offers no reindexing", () => {
  const facts = { status: "incomplete", wordsOnly: true, warning: "The model is not there." } as const;
  const view = shown("running", facts, undefined, 0);
  expect([view.condition, view.severity]).toEqual(["wordsOnly", "warning"]);
  expect(view.says).toBe("Searches find words only, not meaning. The model is not there.");
  expect(offersFor(view.condition, true, false).map(({ title }) => title)).not.toContain("Reindex");
});

test("what would start from a snapshot, or starts from it, can be indexed here instead", () => {
  const titles = (...given: Parameters<typeof offersFor>) => offersFor(...given).map(({ title }) => title);
  expect(titles("missing", true, false, true)).toContain("Index Here Instead");
  expect(titles("indexing", true, true, true)).toEqual(expect.arrayContaining(["Cancel", "Index Here Instead"]));
  expect(titles("missing", true, false)).not.toContain("Index Here Instead");
});

test("where several folders are open, the tooltip and what is spoken name the folder", () => {
  const { tooltip, spoken } = shown("running", { status: "ready" }, undefined, NOW, "a/app");
  expect(tooltip).toMatch(/^\*\*Sidecar\*\*: a\/app\n/);
  expect(spoken).toBe("Sidecar, a/app: The index is up to date.");
});
