import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { Shelf } from "../../src/results/shelf";
import type { Asked } from "../../src/search/find";
import { NOTHING, type Searches, takeOver } from "../../src/search/former";
import { LastTyped } from "../../src/search/last";
import { SharedFile } from "../../src/sharedFile";
import { memoryOf } from "./memory";

const made: string[] = [];
const asked = (query: string): Asked => ({ subject: "code", query, mode: "hybrid" });

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "sidecar-shared-"));
  made.push(folder);
  return join(folder, "searches", "one.json");
}

function window(file: string, initial = NOTHING) {
  const troubles: unknown[] = [];
  const shared = new SharedFile<Searches>(file, initial, (error) => troubles.push(error));
  return { shared, shelf: new Shelf(shared), last: new LastTyped(shared), troubles };
}

afterEach(() => made.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

test("two windows on one folder take back nothing of what the other has saved, used or typed", () => {
  const file = newFile();
  const [one, other] = [window(file), window(file)];
  one.shelf.toggleSaved(asked("a"));
  other.shelf.toggleSaved(asked("b"));
  one.shelf.note(asked("c"), 1);
  other.shelf.note(asked("d"), 2);
  one.last.note("code", "e");
  one.last.keep();
  other.last.note("docs", "f");
  other.last.keep();
  const later = window(file);
  expect(later.shelf.saved.map(({ query }) => query)).toEqual(["b", "a"]);
  expect(later.shelf.history.map(({ asked: { query } }) => query)).toEqual(["d", "c"]);
  expect([later.last.of("code"), later.last.of("docs")]).toEqual(["e", "f"]);
});

test("what two windows save at once is saved, and what one has forgotten stays forgotten", () => {
  const file = newFile();
  const [one, other] = [window(file), window(file)];
  one.shelf.toggleSaved(asked("a"));
  other.shelf.toggleSaved(asked("a"));
  expect(window(file).shelf.saved).toEqual([asked("a")]);
  one.shelf.toggleSaved(asked("a"));
  other.shelf.note(asked("b"), 1);
  expect(other.shelf.saved).toEqual([]);
});

test("a window hears that another has changed something, and shows it", () => {
  const file = newFile();
  const [one, other] = [window(file), window(file)];
  one.shelf.note(asked("a"), 1);
  expect(other.shelf.history).toEqual([]);
  expect(other.shared.reload()).toBe(true);
  expect(other.shelf.history.map(({ asked: { query } }) => query)).toEqual(["a"]);
});

test("each window has its own last question, and a new one has the latest of all", () => {
  const file = newFile();
  const [one, other] = [window(file), window(file)];
  one.last.note("code", "mine");
  one.last.keep();
  other.last.note("code", "yours");
  other.last.keep();
  one.shared.reload();
  expect([one.last.of("code"), other.last.of("code"), window(file).last.of("code")]).toEqual([
    "mine",
    "yours",
    "yours",
  ]);
});

test("what an earlier version kept goes to the file once, and is gone for good when the file is removed", () => {
  const file = newFile();
  const kept = new Map<string, unknown>([
    ["sidecar.savedSearches", [asked("old")]],
    ["sidecar.mode", "fts"],
  ]);
  const one = window(file);
  takeOver(memoryOf(kept), one.shared);
  expect(one.shelf.saved).toEqual([asked("old")]);
  expect([...kept.keys()]).toEqual(["sidecar.mode"]);
  rmSync(dirname(file), { recursive: true });
  const other = window(file);
  takeOver(memoryOf(kept), other.shared);
  expect(other.shelf.saved).toEqual([]);
});

test("what an earlier version kept stays where it is if it cannot be stored elsewhere", () => {
  const file = newFile();
  window(file).shelf.toggleSaved(asked("a"));
  const kept = new Map<string, unknown>([["sidecar.savedSearches", [asked("old")]]]);
  takeOver(memoryOf(kept), window(join(file, "two.json")).shared);
  expect([...kept.keys()]).toEqual(["sidecar.savedSearches"]);
});

test("a window that was open when the file was removed shows and stores nothing of it any more", () => {
  const file = newFile();
  const [one, other] = [window(file), window(file)];
  one.shelf.toggleSaved(asked("a"));
  one.last.note("code", "b");
  one.last.keep();
  other.shared.reload();
  rmSync(dirname(file), { recursive: true });
  expect(other.shared.reload()).toBe(true);
  expect(other.shelf.saved).toEqual([]);
  one.last.keep();
  one.shelf.note(asked("c"), 1);
  expect(window(file).shared.value).toMatchObject({ saved: [], typed: {} });
});

test.each(["", "{", "[1]", "7", "null"])("a file that holds %j loses no window what it knows", (text) => {
  const file = newFile();
  const one = window(file);
  one.shelf.toggleSaved(asked("a"));
  writeFileSync(file, text);
  expect(one.shared.reload()).toBe(false);
  one.shelf.toggleSaved(asked("b"));
  expect(window(file).shelf.saved.map(({ query }) => query)).toEqual(["b", "a"]);
});

test("a member that somebody has made something else of counts as missing, and the others count", () => {
  const file = newFile();
  window(file).shelf.toggleSaved(asked("a"));
  writeFileSync(file, JSON.stringify({ past: 7, saved: [asked("b")], typed: ["c"] }));
  const later = window(file);
  expect([later.shelf.history, later.shelf.saved, later.last.of("code")]).toEqual([[], [asked("b")], ""]);
});

test("nothing but the file is left, and where none can be written the window goes on and says so", () => {
  const file = newFile();
  window(file).shelf.toggleSaved(asked("a"));
  expect(readdirSync(dirname(file))).toEqual(["one.json"]);
  const below = window(join(file, "two.json"));
  below.shelf.toggleSaved(asked("b"));
  below.shelf.toggleSaved(asked("c"));
  expect(below.shelf.saved).toEqual([asked("c"), asked("b")]);
  expect(below.troubles).toHaveLength(2);
});

test("what could not be written is written with the next change, and the file's older state brings nothing back", () => {
  const file = newFile();
  const one = window(file);
  one.shelf.toggleSaved(asked("a"));
  const blocked = `${file}.${process.pid}`;
  mkdirSync(join(blocked, "full"), { recursive: true });
  one.shelf.toggleSaved(asked("b"));
  expect(one.troubles).toHaveLength(1);
  rmSync(blocked, { recursive: true });
  one.shelf.toggleSaved(asked("c"));
  expect(window(file).shelf.saved.map(({ query }) => query)).toEqual(["c", "b", "a"]);
});
