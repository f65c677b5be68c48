// The search palette, on a real package's source.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";

const QUESTION = "redirect a request to another url";

/** Opens the palette and asks; the answer is there when this returns. */
async function ask(window: Window, query: string, title = "Sidecar: Search Code"): Promise<void> {
  await window.command(title);
  await window.input.fill(query);
  await answered(window);
}

async function answered(window: Window): Promise<void> {
  await expect(window.page.locator(".quick-input-list .quick-input-list-separator").first()).toContainText(/result/);
}

/** The place that a row names: `path:line` or `path:first–last`. */
async function placeOf(row: ReturnType<Window["row"]>): Promise<{ path: string; file: string; line: number }> {
  const text = (await row.textContent()) ?? "";
  const [, path = "", line = ""] = /([\w/.-]+\.\w+):(\d+)/.exec(text) ?? [];
  return { path, file: path.split("/").at(-1) ?? "", line: Number(line) };
}

test("searching while typing shows what it is, where, its score and the match with the words marked", async ({
  window,
}) => {
  await ask(window, QUESTION);
  const first = window.row(0);
  await expect(first).toContainText(/\w+\.py:\d+/);
  await expect(first).toContainText(/0\.\d\d/);
  await expect(first).toContainText(/❰\w*redirect\w*❱/i);
  await window.picture("search");
});

test("moving through the list previews each place, and Escape puts back what was there", async ({ window }) => {
  await window.openFile("starlette/config.py");
  await ask(window, QUESTION);
  await window.page.keyboard.press("ArrowDown");
  const { file, line } = await placeOf(window.row(1));
  await expect(window.tab(file)).toHaveAttribute("aria-selected", "true");
  await window.cursorIsAt(line);
  await expect(window.input).toBeFocused();
  await window.picture("preview");
  await window.page.keyboard.press("Escape");
  await expect(window.tab("config.py")).toHaveAttribute("aria-selected", "true");
  await expect(window.tab(file)).toHaveCount(0);
});

test("Enter opens the hit at its line", async ({ window }) => {
  await ask(window, "class that serves static files");
  const { file, line } = await placeOf(window.row(0));
  await window.page.keyboard.press("Enter");
  await expect(window.tab(file)).toHaveAttribute("aria-selected", "true");
  await window.cursorIsAt(line);
  await expect(window.input).toBeHidden();
});
