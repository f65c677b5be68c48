import { afterEach, expect, test, vi } from "vitest";
import type { CancellationToken } from "vscode";
import * as vscode from "vscode";
import { ask, type Asked } from "../../../src/server/questions";

const open = { isCancellationRequested: false } as CancellationToken;
const withdrawn = { isCancellationRequested: true } as CancellationToken;
const asked = (type: number): Asked => ({
  type,
  message: "robot wants to delete the index.\nIt cannot be undone.",
  actions: [{ title: "Delete index" }, { title: "Cancel" }],
});

/** The person presses the button with this title in whatever is shown; undefined: closes it. */
function pressing(title: string | undefined) {
  const answer = (...shown: unknown[]) =>
    Promise.resolve(shown.find((one) => title !== undefined && (one as { title?: string }).title === title));
  const window = vscode.window as unknown as Record<string, unknown>;
  const [warning, toast] = [vi.fn(answer), vi.fn(answer)];
  Object.assign(window, { showWarningMessage: warning, showInformationMessage: toast });
  return { warning, toast };
}

afterEach(() => {
  vi.restoreAllMocks();
});

test("what loses something is asked in a dialog that waits, with Escape meaning the no", async () => {
  const { warning, toast } = pressing("Delete index");
  expect(await ask(asked(2), open)).toEqual({ title: "Delete index" });
  expect(warning).toHaveBeenCalledWith(
    "robot wants to delete the index.",
    { modal: true, detail: "It cannot be undone." },
    { title: "Delete index", isCloseAffordance: false },
    { title: "Cancel", isCloseAffordance: true },
  );
  expect(toast).not.toHaveBeenCalled();
});

test("what loses nothing is asked in a notification, and closing it is no", async () => {
  const { warning, toast } = pressing(undefined);
  expect(await ask(asked(3), open)).toBeNull();
  expect(toast.mock.calls[0]?.[0]).toBe("robot wants to delete the index. It cannot be undone.");
  expect(warning).not.toHaveBeenCalled();
});

test("an answer that comes too late is told to have done nothing", async () => {
  const { toast } = pressing("Delete index");
  await ask(asked(2), withdrawn);
  expect(toast.mock.calls[0]?.[0]).toContain("no longer waiting");
});
