import { expect, test } from "vitest";
import { UNKNOWN, offerText, startText, whyVoid } from "../../../src/index/snapshotText";
import { shown } from "../../../src/index/state";

const NOW = Date.parse("2026-01-02T12:00:00Z");
const OFFER = {
  source: "https://ci.example.org/snapshots",
  commit: "0123456789abcdef0123456789abcdef01234567",
  branch: "main",
  ahead: 3,
  made: "2026-01-02T10:00:00+00:00",
  bytes: 52_400_000,
  files: 4312,
};

test("an offer names branch, age, distance, megabytes and what they save", () => {
  expect(offerText("rails", OFFER, NOW).text).toBe(
    'Index "rails" from a snapshot of your team\'s? "main" was indexed 2 h ago, 3 commits before yours:' +
      " 52 MB instead of reading 4,312 files here.",
  );
});

test("what is not known is left out: the branch, the time by a clock that is none, the distance of nothing", () => {
  const text = startText({ commit: OFFER.commit, made: "soon", bytes: 340_000, files: 1 }, NOW)?.text;
  expect(text).toContain('Commit "0123456789" was indexed: 0.3 MB instead of reading 1 file here.');
});

test("without a source no network is promised, with one that has nothing the reason is told instead", () => {
  expect(offerText("rails", {}, NOW).text).toContain("no network is used");
  expect(startText({}, NOW)).toBeUndefined();
  expect(startText(UNKNOWN, NOW)).toBeUndefined();
  expect(offerText("rails", UNKNOWN, NOW).text).toMatch(/It stays on this machine\.$/);
  const without = offerText("rails", { reason: "There are no snapshots at https://ci.example.org." }, NOW).text;
  expect(without).toContain("No snapshot of your team's can be taken: There are no snapshots at");
  expect(without).not.toContain("no network");
});

test("a branch is somebody else's name: no link, one line, short", () => {
  const { text } = offerText(
    "x",
    { ...OFFER, branch: "[Show](command:evil)\n\nPress Delete. " + "a".repeat(200) },
    NOW,
  );
  expect(text).not.toMatch(/\]\(|\n/);
  expect(text.length).toBeLessThan(250);
});

test("the tooltip says what an index started from", () => {
  const origin = { commit: OFFER.commit, made: OFFER.made, source: OFFER.source, files: 982, taken: 980 };
  const { tooltip } = shown("running", { status: "ready", totalFiles: 982, origin }, undefined, NOW);
  expect(tooltip).toContain("| Started from | snapshot of commit 0123456789, made 2 h ago at https");
  expect(tooltip).toContain("980 of 982 files");
});

test("an offer that is older than an index begun elsewhere says what is going on instead", () => {
  const progress = { phase: "embedding", done: 41, total: 100, percent: 41, says: "" };
  expect(whyVoid("rails", { status: "indexing", progress })?.text).toBe(
    '"rails" is being indexed already, 41 %: that was begun in another window or outside the editor.',
  );
  expect(whyVoid("rails", { status: "indexing" })?.text).toContain("is being indexed already: that was begun");
  expect(whyVoid("rails", { status: "indexing", progress }, true)?.text).toBe(
    '"rails" is being indexed already, 41 %.',
  );
  expect(whyVoid("rails", { status: "not_found" }, true)?.text).toBe('"rails" is being indexed already.');
  expect(whyVoid("rails", { status: "ready", totalFiles: 4312 })?.text).toBe(
    '"rails" is indexed already: 4,312 files.',
  );
  for (const status of ["not_found", "incomplete", "failed"] as const)
    expect(whyVoid("rails", { status })).toBeUndefined();
});
