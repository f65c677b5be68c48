// The search palette, on the source of a real package.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "./test";

const QUESTION = "compress the response body";
const SIDE = "Open to the Side";
const SYMBOL = "Sidecar: Go to Symbol by Meaning";

/** Names that are like one another, in one module. */
const NAMED = [
  "APIRouter",
  "APIRoute",
  "APIRouteView",
  "OAuth2PasswordBearer",
  "OAuth2PasswordForm",
  "OAuth2CodeBearer",
];
const CLASSES = NAMED.map(
  (name) => `class ${name}:\n    def ${name.toLowerCase()}_ready(self):\n        return True\n`,
);
/** A picture inside a text file: 6,000 letters and digits that mean nothing, some of which are words. */
const ENCODED = Array.from({ length: 100 }, (_, at) => createHash("sha256").update(`${at}`).digest("base64")).join("");
const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg">\n<image href="data:image/png;base64,${ENCODED}"/>\n</svg>\n`;
const STEPS = Array.from({ length: 160 }, (_, at) => `    feather_${at + 1} = weigh(feather_${at}, ${at})`).join("\n");
const LONG = `def weigh_all_feathers(feather_0):\n${STEPS}\n    return feather_160\n`;
const LIKE_IT =
  "def balance_pelicans(feather_0):\n    feather_1 = weigh(feather_0, 0)\n    return weigh(feather_1, 1)\n";

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

test("selected lines are the query, on one line, and more can be typed after them", async ({ window }) => {
  const text = readFileSync(join(window.editor.folder, "starlette/middleware/gzip.py"), "utf8");
  const [first = "", second = ""] = text.split("\n").slice(11, 13);
  await window.openFile("starlette/middleware/gzip.py");
  await window.goToLine(12);
  for (const key of ["Home", "Shift+ArrowDown", "Shift+End"]) await window.page.keyboard.press(key);
  await expect(window.statusItem("selected")).toBeVisible();
  await window.page.keyboard.press("Alt+Shift+S");
  await expect(window.input).toHaveValue(`${first.trim()} ${second.trim()}`);
  await window.answered();
  await expect(window.row(0)).toContainText("gzip.py");
  await window.page.keyboard.press("End");
  // While a filter is completed, there is no answer on screen, so the next one belongs to the whole text.
  await window.typesOn(" lang:pyth");
  await window.choose("lang:python");
  await window.answered();
  await expect(window.row(0)).toContainText("gzip.py");
  await window.page.keyboard.press("Enter");
  await expect(window.tab("gzip.py")).toBeVisible();
  // What was asked is kept with its lines.
  const kept = join(window.editor.root, "data/User/globalStorage/sidecar-search.sidecar/searches");
  const asked = JSON.stringify(`${first}\n${second} lang:python`);
  await expect
    .poll(() => readdirSync(kept).map((name) => readFileSync(join(kept, name), "utf8")))
    .toContainEqual(expect.stringContaining(asked));
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

test("similar code leaves out every piece of the function that it starts from", async ({ window }) => {
  const { folder } = window.editor;
  writeFileSync(join(folder, "services/feathers.py"), LONG);
  writeFileSync(join(folder, "services/scales.py"), LIKE_IT);
  await window.searchSays("balance pelicans", "scales.py");
  await window.searchSays("weigh all feathers", "feathers.py");
  await window.page.keyboard.press("Escape");
  await window.openFile("services/feathers.py");
  await window.goToLine(80);
  await window.openList("Sidecar: Find Similar Code");
  await expect(window.title).toContainText("Code Like feathers.py:80");
  await window.answered();
  await expect(window.row(0)).toContainText("scales.py");
  await expect(window.rows.filter({ hasText: "feathers.py" })).toHaveCount(0);
  await window.page.keyboard.press("Escape");
  for (const name of ["feathers", "scales"]) rmSync(join(folder, `services/${name}.py`));
});

test("a symbol stands first, also if it is mistyped, in the palette and in Go to Symbol", async ({ window }) => {
  const file = join(window.editor.folder, "services/named.py");
  writeFileSync(file, CLASSES.join("\n"));
  const name = () => window.row(0).locator(".label-name").first();
  for (const title of [undefined, SYMBOL])
    for (const [typed, meant] of [
      ["GZipMiddleware", "GZipMiddleware"],
      ["APIRouter", "APIRouter"],
      ["APIRoutr", "APIRouter"],
      ["OAuth2PaswordBearer", "OAuth2PasswordBearer"],
    ] as const) {
      await window.searchSays(typed, meant, title);
      await expect(name()).toHaveText(new RegExp(`(^|\\W)${meant}$`));
      if (typed === meant) await expect(window.prompt).toBeHidden();
      else await expect(window.prompt).toContainText(`Nothing is called ${typed}; searched for ${meant}.`);
      await window.page.keyboard.press("Escape");
    }
  rmSync(file);
});

test("questions in German and Japanese find what they mean, and nobody is shown encoded data", async ({ window }) => {
  const file = join(window.editor.folder, "services/logo.svg");
  writeFileSync(file, PICTURE);
  await window.searchSays("services/logo.svg", "logo.svg", "Sidecar: Search by Path");
  for (const asked of ["Wo wird die Antwort komprimiert?", "レスポンスの圧縮"]) {
    await window.search(asked);
    const first = window.page.locator(".quick-input-list [data-index='0'], .quick-input-list [data-index='1']");
    await expect(first.filter({ hasText: "starlette/middleware/gzip.py" })).toHaveCount(1);
    await expect(window.prompt).toContainText(/Also searched in English: .*compress/);
    await expect(window.rows.filter({ hasText: /logo\.svg|base64/ })).toHaveCount(0);
  }
  await window.picture("search-japanese");
  await window.page.keyboard.press("Escape");
  rmSync(file);
});

test("a path that forges a link or an icon is text in rows, titles, views and dialogs", async ({ window }) => {
  const name = "[x](command:workbench.action.quit) $(rocket) **b**.py";
  const file = join(window.editor.folder, "services", name);
  const isText = async (): Promise<void> => {
    await expect(window.page.locator(".codicon-rocket, a[href*='workbench.action.quit']")).toHaveCount(0);
    await expect(window.page.locator("[data-href*='workbench.action.quit']")).toHaveCount(0);
  };
  writeFileSync(file, "def balance_forged_pelicans(scale):\n    return scale\n");
  await window.searchSays("balance forged pelicans", "[x](command:workbench.action.quit)");
  await isText();
  await window.page.keyboard.press("Enter");
  await window.cursorIsAt(1);
  await window.openList("Sidecar: Find Similar Code");
  await expect(window.title).toContainText("Code Like [x](command:workbench.action.quit)");
  await window.answered();
  await isText();
  await window.page.keyboard.press("Escape");
  await window.command("Sidecar: Reindex This File");
  await window.statusBarSaid(/services.*indexed again/);
  await isText();
  await window.command("Sidecar: Why Is This File (Not) Indexed?");
  await expect(window.dialog).toContainText("is indexed and up to date.");
  await isText();
  await window.page.keyboard.press("Escape");
  await window.keep("balance forged pelicans");
  const row = window.items.filter({ hasText: "[x](command:workbench.action.quit)" }).first();
  await row.hover();
  await isText();
  await window.picture("forged-path");
  rmSync(file);
});

test("a text of thousands of characters is searched, also where it is pasted with its lines", async ({ window }) => {
  const text = readFileSync(join(window.editor.folder, "starlette/middleware/gzip.py"), "utf8").slice(0, 2279);
  expect(text).toHaveLength(2279);
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await window.page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
  await window.openList("Sidecar: Search Code");
  await window.fillAnew("");
  await window.page.keyboard.press("Control+V");
  await expect(window.input).toHaveValue(/^from __future__ import annotations +import zlib/);
  await window.answered();
  await expect(window.row(0)).toContainText("gzip.py");
  await window.fillAnew(text.replaceAll("\n", " "));
  await window.answered();
  await expect(window.row(0)).toContainText("gzip.py");
});

test("text that is not saved is found until it is thrown away, and a renamed file by its new name", async ({
  window,
}) => {
  const [former, renamed] = ["types", "kinds"].map((name) => join(window.editor.folder, `starlette/${name}.py`));
  await window.openFile("starlette/types.py");
  await window.append("\ndef unsaved_heron_census():\n    return 7 # herons\n");
  await window.search("unsaved heron census");
  await expect(window.row(0)).toContainText("types.py");
  await expect(window.row(0)).toContainText("unsaved_heron_census");
  expect(readFileSync(former!, "utf8")).not.toContain("heron");
  await window.picture("unsaved-text");
  await window.page.keyboard.press("Escape");
  await window.command("File: Revert File");
  await window.search("unsaved heron census");
  await expect(window.list).not.toContainText("unsaved_heron_census");
  await window.page.keyboard.press("Escape");

  renameSync(former!, renamed!);
  await window.searchSays("starlette/kinds.py", "kinds.py", "Sidecar: Search by Path");
  await window.searchSays("starlette/types.py", "Nothing found", "Sidecar: Search by Path");
  await window.page.keyboard.press("Escape");
  renameSync(renamed!, former!);
});
