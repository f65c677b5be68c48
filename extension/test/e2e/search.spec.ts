// The search palette, on the source of a real package.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "./test";

const QUESTION = "compress the response body";
const SIDE = "Open to the Side";

test("searching while typing shows what it is, where, its score and the match, without signs for the eye only", async ({
  window,
}) => {
  await window.search(QUESTION);
  await expect(window.row(0)).toContainText(/\w+\.py:\d+/);
  await expect(window.row(0)).toContainText(/0\.\d\d/);
  await expect(window.row(0)).toContainText(/compress|respon|body/i);
  await expect(window.list).toContainText(/compress/i);
  for (const name of await window.rows.evaluateAll((rows) => rows.map((row) => row.getAttribute("aria-label") ?? ""))) {
    expect(name).not.toMatch(/[❰❱]|\d+ (of \d+ )?results/);
  }
  await window.picture("search");
});

test("results stand in the order of their scores, whatever their names are", async ({ window }) => {
  await window.search("Route");
  const described = await window.rows.locator(".label-description").allTextContents();
  const scores = described.flatMap((text) => /0\.\d\d$/.exec(text.trim()) ?? []).map(Number);
  expect(scores.length).toBeGreaterThan(3);
  expect(scores).toEqual([...scores].sort((one, other) => other - one));
});

test("moving through the list previews each place, and Escape puts back what was there", async ({ window }) => {
  await window.openFile("starlette/config.py");
  await window.search(QUESTION);
  const { file, line } = await window.placeOf(1);
  await window.page.keyboard.press("ArrowDown");
  await expect(window.tab(file)).toHaveAttribute("aria-selected", "true");
  await window.cursorIsAt(line);
  await expect(window.input).toBeFocused();
  await window.picture("preview");
  await window.page.keyboard.press("Escape");
  await expect(window.tab("config.py")).toHaveAttribute("aria-selected", "true");
  await expect(window.tab(file)).toHaveCount(0);
});

test("Enter opens the hit at its line", async ({ window }) => {
  await window.search("class that serves static files");
  const { file, line } = await window.placeOf(0);
  await window.page.keyboard.press("Enter");
  await expect(window.tab(file)).toHaveAttribute("aria-selected", "true");
  await window.cursorIsAt(line);
  await expect(window.input).toBeHidden();
});

test("a button and Ctrl+Enter open a hit to the side", async ({ window }) => {
  await window.openFile("starlette/config.py");
  await window.search("class that serves static files");
  const { file } = await window.placeOf(0);
  await window.row(0).hover();
  await window
    .row(0)
    .getByRole("button", { name: new RegExp(SIDE) })
    .click();
  const groups = window.page.locator(".editor-group-container");
  await expect(groups).toHaveCount(2);
  await expect(groups.nth(1)).toContainText(file);
  await expect(groups.nth(0)).toContainText("config.py");
  await window.picture("to-the-side");
  await window.command("View: Close All Editors");
  await window.openFile("starlette/config.py");
  await window.search("class that serves static files");
  await window.page.keyboard.press("Control+Enter");
  await expect(groups).toHaveCount(2);
});

test("the way of searching is switched by buttons and by Alt+M, and remembered", async ({ window }) => {
  await window.search(QUESTION);
  const title = window.page.locator(".quick-input-title");
  await expect(title).toContainText("Search Code: words and meaning");
  await window.page.locator(".quick-input-titlebar").getByRole("checkbox", { name: "Words only" }).click();
  await expect(title).toContainText("Search Code: words only");
  await window.answered();
  await window.picture("search-by-words");
  await window.page.keyboard.press("Escape");
  await window.openList("Sidecar: Search Code");
  await expect(title).toContainText("Search Code: words only");
  for (const next of ["meaning only", "documentation", "words and meaning"]) {
    await window.page.keyboard.press("Alt+M");
    await expect(title).toContainText(`Search Code: ${next}`);
  }
});

test("a palette that is opened over another has the keys", async ({ window }) => {
  await window.search(QUESTION);
  await window.page.keyboard.press("Alt+Shift+S");
  await expect(window.input).toHaveValue(QUESTION);
  const title = window.page.locator(".quick-input-title");
  for (const next of ["words only", "meaning only", "documentation", "words and meaning"]) {
    await window.page.keyboard.press("Alt+M");
    await expect(title).toContainText(`Search Code: ${next}`);
  }
});

test("an empty palette lists recent searches, and one of them is asked again by Enter", async ({ window }) => {
  await window.search("parse the cookies of a request");
  const { line } = await window.placeOf(0);
  await window.page.keyboard.press("Enter");
  await window.cursorIsAt(line);
  await window.openList("Sidecar: Search Code");
  await window.fillAnew("");
  await expect(window.row(0)).toContainText("parse the cookies of a request");
  await window.picture("recent-searches");
  await window.page.keyboard.press("Enter");
  await expect(window.input).toHaveValue("parse the cookies of a request");
  await window.answered();
});

test("the selected text is the first query", async ({ window }) => {
  const text = readFileSync(join(window.editor.folder, "starlette/config.py"), "utf8");
  const word = /\w+$/.exec(text.split("\n")[3] ?? "")?.[0];
  await window.openFile("starlette/config.py");
  await window.selectLastWord(4);
  // Run by its key: opening the list of commands begins with Escape, which would clear the selection.
  await window.page.keyboard.press("Alt+Shift+S");
  await expect(window.input).toHaveValue(word ?? "");
  await window.answered();
});

test("nothing found says how it was searched and what to try", async ({ window }) => {
  const query = "no-such-path-anywhere";
  await window.searchSays(query, `Nothing found for "${query}"`, "Sidecar: Search by Path");
  await window.picture("nothing-found");
});

test("documents, symbols and paths have searches of their own", async ({ window }) => {
  await window.search("how is it installed", "Sidecar: Search Docs");
  await expect(window.row(0)).toContainText("README.md");
  await window.picture("search-docs");
  await window.search("compresses responses", "Sidecar: Go to Symbol by Meaning");
  await expect(window.rows.filter({ hasText: "gzip.py" }).first()).toBeVisible();
  await window.picture("symbol-by-meaning");
  await window.searchSays("middleware", "starlette/middleware", "Sidecar: Search by Path");
  await window.picture("search-by-path");
});

test("similar code is found for the cursor and for a selection, from the editor's context menu too", async ({
  window,
}) => {
  await window.openFile("starlette/middleware/gzip.py");
  await window.goToLine(10);
  await window.openList("Sidecar: Find Similar Code");
  await expect(window.page.locator(".quick-input-title")).toContainText("Code Like gzip.py:10");
  await window.answered();
  await expect(window.row(0)).toContainText(".py:");
  await window.picture("similar-code");
  await expect(async () => {
    await window.page.keyboard.press("Escape");
    await window.page.locator(".monaco-editor .view-line").nth(4).click({ button: "right" });
    await expect(window.page.locator(".monaco-menu")).toContainText("Find Similar Code", { timeout: 4000 });
  }).toPass();
  await window.picture("context-menu");
});

test("text that is not saved is found", async ({ window }) => {
  await window.openFile("starlette/types.py");
  await window.append("\ndef unsaved_heron_census():\n    return 7 # herons\n");
  await window.search("unsaved heron census");
  await expect(window.row(0)).toContainText("types.py");
  await expect(window.row(0)).toContainText("unsaved_heron_census");
  expect(readFileSync(join(window.editor.folder, "starlette/types.py"), "utf8")).not.toContain("heron");
  await window.picture("unsaved-text");
});
