import { expect, test } from "vitest";
import { Failure } from "../../../src/failure";
import { adviceForError, adviceForNothing, whatHelps } from "../../../src/search/advice";
import { adviceItems } from "../../../src/search/items";
import { modeAfter, modeOf, MODES, usualMode } from "../../../src/search/modes";
import type { FolderStatus, Sidecar } from "../../../src/sidecar";

test.each([
  ["INDEX_NOT_FOUND", "sidecar.createIndex"],
  ["INDEX_CORRUPT", "sidecar.reindexProject"],
  ["NOT_RUNNING", "sidecar.restart"],
  ["NOT_TRUSTED", "workbench.trust.manage"],
  ["NO_FOLDER", "vscode.openFolder"],
  ["WORKSPACE_NOT_FOUND", "vscode.openFolder"],
  ["STORE_FAILED", "sidecar.showLog"],
])("%s is answered with a command that helps", (code, command) => {
  const advice = adviceForError(new Failure(code, "It did not work."));
  expect(advice.command?.id).toBe(command);
  expect(advice.detail).toBe("It did not work.");
});

test("in a folder without an index a row says what to press and how long it takes, and nothing twice", () => {
  const [row] = adviceItems(adviceForError(new Failure("INDEX_NOT_FOUND", "This project hasn't been indexed yet.")));
  expect(row).toMatchObject({
    label: "$(database) This folder is not indexed yet",
    detail: "Press Enter: Create Index. It takes seconds to minutes, on this machine.",
    command: "sidecar.createIndex",
  });
});

test("what helps is called as in the list of all commands", () => {
  expect(whatHelps(adviceForError(new Failure("INDEX_NOT_FOUND", "x")))).toBe("Sidecar: Create Index");
  expect(whatHelps(adviceForError(new Failure("NOT_TRUSTED", "x")))).toBe("Manage Workspace Trust");
  expect(whatHelps(adviceForError(new Failure("INVALID_PATTERN", "x")))).toBe("");
});

test("what a person can mend in the query itself offers no command", () => {
  const advice = adviceForError(new Failure("INVALID_PATTERN", "Invalid glob pattern. Unbalanced braces."));
  expect(advice.command).toBeUndefined();
  expect(advice.detail).toBe("Invalid glob pattern. Unbalanced braces.");
});

test("an answer without results says how it was searched and what to try", () => {
  const { title, detail } = adviceForNothing({ subject: "code", query: "zzz", mode: "words" });
  expect(title).toBe('Nothing found for "zzz" by words only');
  expect(detail).toMatch(/buttons/);
});

test("the sidecar's reason for an answer without results comes before our hints", () => {
  const reason = 'There is no kind "clas"; did you mean class?';
  expect(adviceForNothing({ subject: "code", query: "zzz", mode: "words" }, reason).detail).toBe(reason);
});

test("where words and meaning together are turned off, meaning alone is the usual way", () => {
  const told = (...enabled: boolean[]): Pick<Sidecar, "statuses"> => ({
    statuses: new Map(
      enabled.map((one, at) => [
        String(at),
        { hybridSearch: { enabled: one, ftsEngine: "native", ftsChunks: 1, defaultAlpha: 0.5 } } as FolderStatus,
      ]),
    ),
  });
  expect([told(), told(true), told(false, true)].map(usualMode)).toEqual(["hybrid", "hybrid", "hybrid"]);
  expect(usualMode(told(false, false))).toBe("vector");
});

test("the ways of searching follow one another, and an unknown one is the first", () => {
  expect(MODES.map(({ id }) => modeAfter(id).id)).toEqual(["words", "meaning", "docs", "hybrid"]);
  expect(modeOf("former").id).toBe("hybrid");
  expect(modeOf(undefined).id).toBe("hybrid");
});

test("where filters left nothing, the advice is to leave them out", () => {
  const asked = { subject: "code", query: "retry lang:cobol", mode: "hybrid" } as const;
  expect(adviceForNothing(asked).detail).toContain("Leave out lang:");
  expect(adviceForNothing({ ...asked, query: "retry" }).detail).not.toContain("lang:");
  expect(adviceForNothing({ ...asked, subject: "path" }).detail).toContain("Letters of a path");
});
