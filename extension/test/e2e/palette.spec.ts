// The search palette in a repository of more than 2,000 files: what it never does unasked, and what it says.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";

// The Explorer would reveal each opened file, and scroll away what a test looks for there.
test.use({ editorOptions: { user: { "explorer.autoReveal": false } } });

const QUESTION = "compress the response body";
const LINE_PX = 19;
/** In a browser nobody tells the extension which keyboard it is. */
const SAVE_KEY = "Alt+S, on macOS Ctrl+Cmd+S";

const STEPS = Array.from({ length: 160 }, (_, at) => `    step_${at + 1} = prepare(step_${at}, ${at})`).join("\n");
const LONG = `def plan_the_voyage(step_0):\n${STEPS}\n    weigh_albatross_feathers(step_160)\n${STEPS}\n    return step_160\n`;
const METHODS = ["load", "merge", "find", "order", "limit", "lock", "pluck", "reset"];
const RUBY = `module ActiveRecord
  class Relation
${METHODS.map((name) => `    def ${name}(scope)\n      scope.${name}_records\n    end\n`).join("\n")}
    def reconcile(scope)
      scope.ledgers.each(&:balance_pelican_accounts)
    end
  end
end
`;

/** Adds a function that only a question with its odd word finds, and returns that word: it tells whose answer is on screen. */
async function odd(window: Window, word: string): Promise<string> {
  writeFileSync(join(window.editor.folder, `${word}.py`), `def ${word}():\n    return 1\n`);
  await window.searchSays(word, `${word}.py`);
  await window.page.keyboard.press("Escape");
  return word;
}

/** Returns the line numbers that the status bar has shown since its record was last cleared. */
async function linesShown(window: Window): Promise<string[]> {
  const texts = await window.statusBarTexts();
  return texts.flatMap((text) => /Ln \d+/.exec(text) ?? []);
}

test("typing on after a pause opens nothing in the editor, however often answers come in between", async ({
  window,
}) => {
  const words = [await odd(window, "quetzal"), await odd(window, "axolotl"), await odd(window, "okapi")];
  await window.openFile("starlette/config.py");
  await window.goToLine(7);
  await window.search("compress");
  await window.forgetStatusBar();
  for (const [at, word] of words.entries()) {
    await window.typesOn([" gzip", " headers", " minimum"][at] ?? "");
    await window.addsWord(word);
  }
  // A file opened unasked would have been opened before this.
  await window.page.keyboard.press("ArrowDown");
  const { file, line } = await window.placeOf(1);
  await expect(window.tab(file)).toHaveAttribute("aria-selected", "true");
  await window.cursorIsAt(line);
  // If the status bar has not changed since its record was cleared, it still shows the last line.
  expect(["Ln 7", `Ln ${line}`]).toEqual(expect.arrayContaining(await linesShown(window)));
});

test("Enter before what is typed has been answered opens no row of the answer before", async ({ window }) => {
  await window.search(QUESTION);
  await window.editor.whileHeld(async () => {
    await window.typesOn(" gzip");
    await window.page.keyboard.press("Enter");
    await expect(window.input).toHaveValue(`${QUESTION} gzip`);
  });
  await window.answeredWith("gzip");
  await expect(window.input).toHaveValue(`${QUESTION} gzip`);
  await expect(window.page.locator(".tabs-container").getByRole("tab")).toHaveCount(0);
});

test("typing on after moving to a row opens no other row", async ({ window }) => {
  const word = await odd(window, "quokka");
  await window.openFile("starlette/config.py");
  await window.goToLine(7);
  await window.search("compress");
  await window.page.keyboard.press("ArrowDown");
  const { file, line } = await window.placeOf(1);
  await expect(window.tab(file)).toHaveAttribute("aria-selected", "true");
  await window.cursorIsAt(line);
  await window.forgetStatusBar();
  await window.typesOn(" headers");
  await window.addsWord(word);
  await window.page.keyboard.press("ArrowDown");
  await window.page.keyboard.press("ArrowDown");
  const third = await window.placeOf(2);
  await window.cursorIsAt(third.line);
  const second = await window.placeOf(1);
  const moved = [line, second.line, third.line].map((number) => `Ln ${number}`);
  expect(moved).toEqual(expect.arrayContaining(await linesShown(window)));
});

test("going back up to the first row shows it", async ({ window }) => {
  await window.openFile("starlette/config.py");
  await window.search(QUESTION);
  const first = await window.placeOf(0);
  const second = await window.placeOf(1);
  await window.page.keyboard.press("ArrowDown");
  await window.cursorIsAt(second.line);
  await window.page.keyboard.press("ArrowUp");
  await expect(window.tab(first.file)).toHaveAttribute("aria-selected", "true");
  await window.cursorIsAt(first.line);
});

test("Escape brings back the editor, its scroll position and what was selected", async ({ window }) => {
  await window.openFile("starlette/routing.py");
  await window.selectLastWord(300);
  for (let times = 0; times < 5; times++) await window.page.keyboard.press("Control+ArrowDown");
  const selected = await window.statusItem("selected").textContent();
  const scrolled = await window.scrolledTo();
  await window.searchByKey("match the path of a route");
  for (let times = 0; times < 6; times++) {
    await window.page.keyboard.press("ArrowDown");
    const { line } = await window.placeOf(times + 1);
    await window.cursorIsAt(line);
  }
  await window.page.keyboard.press("Escape");
  await expect(window.tab("routing.py")).toHaveAttribute("aria-selected", "true");
  await expect(window.page.locator(".tabs-container").getByRole("tab")).toHaveCount(1);
  await expect(window.statusItem("selected")).toHaveText(selected ?? "");
  // A hit in the same file was previewed, and an extension can only scroll by whole lines.
  await expect
    .poll(async () => Math.abs(parseFloat(await window.scrolledTo()) - parseFloat(scrolled)))
    .toBeLessThan(LINE_PX);
});

test("Ctrl+P right after Escape stays open, while what was previewed goes", async ({ window }) => {
  await window.openFile("starlette/config.py");
  for (const attempt of [1, 2, 3]) {
    await window.search(QUESTION);
    await window.page.keyboard.press("ArrowDown");
    const { file, line } = await window.placeOf(1);
    await window.cursorIsAt(line);
    await window.page.keyboard.press("Escape");
    await window.page.keyboard.press("Control+P");
    await expect(window.tab(file), `attempt ${attempt}`).toHaveCount(0);
    await expect(window.tab("config.py")).toHaveAttribute("aria-selected", "true");
    await window.page.keyboard.type("gzip");
    await expect(window.input).toHaveValue("gzip");
    await expect(window.input).toBeFocused();
    await window.page.keyboard.press("Escape");
    await expect(window.input).toBeHidden();
  }
});

test("the count stands in the title and the notice below the input, and nothing covers a row", async ({ window }) => {
  await window.search(QUESTION);
  await expect(window.title).toContainText(/\d+ of \d+ results in \d+ ms/);
  await expect(window.list.locator(".quick-input-list-separator:visible")).toHaveCount(0);
  const label = window.row(0).locator(".label-name").first();
  const description = window.row(0).locator(".label-description").first();
  for (const part of [label, description]) expect(await window.isUncovered(part)).toBe(true);
  await window.picture("palette-count");
});

test("rows that are probably no answer stand below a line that says so, and nothing covers them", async ({
  window,
}) => {
  await window.search("sourdough bread recipe with rye flour");
  await expect(window.prompt).toContainText("No strong match");
  for (const part of [
    window.row(0).locator(".label-name").first(),
    window.row(0).locator(".label-description").first(),
  ])
    expect(await window.isUncovered(part)).toBe(true);
  await window.picture("palette-weak");
  await window.fillAnew(QUESTION);
  await window.answeredWith("compress");
  await expect(window.prompt).toBeHidden();
});

test("a hit in the middle of a function, and one among many definitions, are named by what encloses them", async ({
  window,
}) => {
  writeFileSync(join(window.editor.folder, "services/ledger.rb"), RUBY);
  writeFileSync(join(window.editor.folder, "services/planning.py"), LONG);
  await window.search("balance pelican accounts");
  await expect(window.row(0)).toContainText("Relation.reconcile");
  await expect(window.row(0).locator(".label-description").first()).toContainText(/^method {2}·/);
  await window.search("weigh albatross feathers");
  await expect(window.row(0)).toContainText("plan_the_voyage");
  await expect(window.row(0).locator(".label-description").first()).toContainText(/^function {2}·/);
  await window.picture("palette-names");
  for (const label of await window.rows.locator(".label-name").allTextContents()) expect(label).not.toMatch(/\+\d/);
});

test("lang: and kind: narrow the answer down while typing, and their values are completed", async ({ window }) => {
  writeFileSync(join(window.editor.folder, "services/ledger.rb"), RUBY);
  await window.search("balance lang:ruby");
  await expect(window.rows.filter({ hasText: /\.py:/ })).toHaveCount(0);
  await expect(window.row(0)).toContainText("services/ledger.rb");
  await window.fillAnew("request lang:py");
  await expect(window.row(0)).toContainText("lang:python");
  await expect(window.row(0)).toContainText(/\d+ files/);
  await window.picture("palette-completion");
  await window.page.keyboard.press("Enter");
  await expect(window.input).toHaveValue("request lang:python ");
  await window.answered();
  await expect(window.rows.filter({ hasText: /\.(md|rb):/ })).toHaveCount(0);
  await window.fillAnew("refund kind:cl");
  await window.choose("kind:class");
  await window.answered();
  await expect(window.row(0).locator(".label-description").first()).toContainText(/services\/\w+\/refund_\w+\.py/);
});

test('path: is completed folder by folder and "exact" finds only what has it as written', async ({ window }) => {
  await window.openList("Sidecar: Search Code");
  await window.fillAnew("refund path:serv");
  await window.choose("path:services");
  await expect(window.input).toHaveValue("refund path:services ");
  await window.answered();
  await window.fillAnew("refund path:services/bil");
  await window.choose("path:services/billing");
  await window.answered();
  const places = await window.rows.locator(".label-description").allTextContents();
  expect(places.length).toBeGreaterThan(5);
  for (const place of places) expect(place).toContain("services/billing/");
  await window.fillAnew('"class RefundBilling7:"');
  await expect(window.title).toContainText(/\b1 result in/);
});

test("Search in This Folder of the Explorer asks about that folder, and is typed on", async ({ window }) => {
  await window.command("View: Show Explorer");
  const folder = window.items.filter({ hasText: /^services$/ });
  await expect(async () => {
    await window.page.keyboard.press("Escape");
    await window.chooseFromMenuOf(folder, "Search in This Folder");
    await expect(window.input).toHaveValue("path:./services ", { timeout: 5000 });
  }).toPass();
  await window.typesOn("refund");
  await window.answered();
  for (const place of await window.rows.locator(".label-description").allTextContents())
    expect(place).toContain("services/");
  await window.picture("search-in-folder");
});

test("the last question is there, selected, when the palette opens again, and a key replaces it", async ({
  window,
}) => {
  await window.search(QUESTION);
  await window.page.keyboard.press("Escape");
  await expect(window.input).toBeHidden();
  await window.openList("Sidecar: Search Code");
  await expect(window.input).toHaveValue(QUESTION);
  await window.answered();
  await window.page.keyboard.type("x");
  await expect(window.input).toHaveValue("x");
});

test("a search that is saved stands first in the empty palette until it is forgotten", async ({ window }) => {
  await window.search("parse the cookies lang:python");
  await window.page.keyboard.press("Alt+S");
  await expect(window.page.getByRole("button", { name: `Saved. Forget This Search (${SAVE_KEY})` })).toBeVisible();
  await window.fillAnew("");
  const saved = window.rows.filter({ hasText: "parse the cookies lang:python" }).first();
  const heading = window.list.getByText("saved searches").filter({ visible: true });
  await expect(heading).toHaveCount(1);
  await expect(saved).toBeVisible();
  await window.picture("saved-search");
  await window.choose("parse the cookies lang:python");
  await expect(window.input).toHaveValue("parse the cookies lang:python");
  await window.answered();
  await window.page.keyboard.press("Alt+S");
  await expect(window.page.getByRole("button", { name: `Save This Search (${SAVE_KEY})`, exact: true })).toBeVisible();
  await window.fillAnew("");
  await expect(heading).toHaveCount(0);
});

test("Search by Path takes letters of the path in any case, as Ctrl+P does", async ({ window }) => {
  for (const typed of ["mwgzip", "GZIP", "middleware gzip"]) {
    await window.searchSays(typed, "gzip.py", "Sidecar: Search by Path");
    await expect(window.row(0)).toContainText("starlette/middleware");
  }
  await window.searchSays("appbill7", "approve_billing_7.py", "Sidecar: Search by Path");
  await window.picture("path-by-letters");
});

test("a name with brackets is found as it is written, by its path and in its folder", async ({ window }) => {
  const folder = join(window.editor.folder, "services/[lot]");
  mkdirSync(folder);
  writeFileSync(join(folder, "[id].py"), "def weigh_the_narwhals():\n    return 3\n");
  writeFileSync(join(window.editor.folder, "services/i.py"), "def weigh_the_narwhals_again():\n    return 3\n");
  await window.searchSays("weigh the narwhals", "[id].py");
  await window.searchSays("[id].py", "services/[lot]", "Sidecar: Search by Path");
  await expect(window.row(1)).toContainText("i.py");
  await window.search("weigh the narwhals path:services/[lot]");
  await expect(window.rows.filter({ hasText: /\.py:/ })).toHaveCount(1);
  await expect(window.row(0)).toContainText("services/[lot]/[id].py");
  rmSync(folder, { recursive: true });
  rmSync(join(window.editor.folder, "services/i.py"));
});
