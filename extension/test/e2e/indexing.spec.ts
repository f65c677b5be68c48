// While a folder of 6,000 files is indexed, one item of each window shows the progress and leads to the command that stops
// it, and answers are code. A stopped run stays stopped; one whose window has closed goes on.
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, type Window } from "./test";

test.use({
  editorOptions: {
    files: 6000,
    indexed: false,
    machine: { "sidecar.model": "minilm-code-int8", "sidecar.twoStage": false },
  },
});

const LONG_MS = 200_000;
const PARTIAL = /Partial \d{1,2} %/;

function item(window: Window) {
  return window.page.locator(".statusbar-item[id*='sidecar.status']");
}

/** Workflows and translations, which have the question's words and stand before the code in the alphabet. */
function addWhatIsNoCode(window: Window): void {
  for (const folder of [".github/workflows", "locales"]) {
    mkdirSync(join(window.editor.folder, folder), { recursive: true });
    for (let number = 0; number < 100; number++)
      writeFileSync(join(window.editor.folder, folder, `order_${number}.yml`), `approve:\n  an: order ${number}\n`);
  }
}

function write(window: Window, path: string, text: string): string {
  const file = join(window.editor.folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** Returns how many files are indexed, as the line below the palette's input tells it while a folder is indexed. */
async function filesSoFar(window: Window): Promise<number> {
  await expect(window.prompt).toContainText(/[\d,]+ of 6,\d+ files, code first/);
  const [, count = ""] = /([\d,]+) of 6,\d+ files/.exec((await window.prompt.textContent()) ?? "") ?? [];
  return Number(count.replaceAll(",", ""));
}

/** Waits until so many windows have a sidecar: that of a closed one ends some seconds later. */
async function windowsAre(window: Window, count: number): Promise<void> {
  await expect.poll(() => window.editor.processes("--stdio").length, { timeout: LONG_MS }).toBe(count);
}

test("the first answers are code: what is open, what is beside it and what has just changed come before the rest", async ({
  window,
}) => {
  const far = "zone/of/animals/kept/far/down";
  write(window, `${far}/keeper.py`, "def feed_the_animals():\n    return 1\n");
  write(window, `${far}/wombat.py`, "def count_the_wombats():\n    return 2\n");
  const changed = write(window, "zoo/of/what/changed/numbat.py", "def count_the_numbats():\n    return 3\n");
  const later = Date.now() / 1000 + 7200;
  utimesSync(changed, later, later);
  for (let number = 0; number < 100; number++) {
    write(window, `.github/workflows/wombat_${number}.yml`, "count: the wombats and the numbats\n");
    write(window, `locales/wombat_${number}.yml`, "count: the wombats and the numbats\n");
    write(
      window,
      `docs/wombat_${number}.md`,
      "# Count the wombats and the numbats\n\nCount the wombats and the numbats.\n",
    );
  }
  await window.openFile("keeper.py");
  await window.command("Sidecar: Create Index");
  await window.statusBarSaid(/Indexing [1-9]\d* %/, LONG_MS);
  for (const animal of ["numbat", "wombat"]) {
    await window.searchSays(`count the ${animal}s`, `${animal}.py`);
    // By their places in the tree, both would be among the last files to be read.
    expect(await filesSoFar(window)).toBeLessThan(3000);
    await expect(window.rows.filter({ hasText: /\.(ya?ml|md)\b/ })).toHaveCount(0);
    await window.page.keyboard.press("Escape");
  }
  await window.command("Sidecar: Cancel Indexing");
  await expect(item(window)).toContainText(PARTIAL, { timeout: LONG_MS });
});

test("one item tells percent and time left, the page the same, and Cancel ends it without an error", async ({
  window,
}) => {
  addWhatIsNoCode(window);
  await window.command("Sidecar: Create Index");
  await window.statusBarSaid(/Indexing \d+ %, \d+ (s|min) left/, LONG_MS);
  expect((await window.statusBarTexts()).filter((text) => /create index/i.test(text))).toEqual([]);
  await expect(window.page.locator(".statusbar-item", { hasText: /ndex/ })).toHaveCount(1);
  await window.search("approve an order");
  await expect(window.prompt).toContainText(/of 6,\d+ files, code first/);
  await expect(window.row(0)).toContainText(/\w+\.py:\d+/);
  await expect(window.rows.filter({ hasText: /\.ya?ml/ })).toHaveCount(0);
  for (const part of [".label-name", ".label-description"])
    expect(await window.isUncovered(window.row(0).locator(part).first())).toBe(true);
  await window.page.keyboard.press("Escape");
  // Indexing is held, so that even a fast machine is not done before the test has looked and clicked.
  await window.editor.whileHeld(async () => {
    await expect(item(window)).toContainText(/Indexing \d+ %, \d+ (s|min) left/);
    await item(window).click();
    await expect(window.webview().getByRole("link", { name: "Cancel" })).toBeVisible();
    const told = /Indexing: [\d,]+ of 6,\d+ files, \d+ %, about \d+ (s|min) left/;
    await expect(window.webview().getByText(told)).toBeVisible();
    const bar = window.webview().getByRole("progressbar", { name: "Indexing" });
    await expect(bar).toHaveAttribute("aria-valuenow", /^\d+$/);
    await expect(bar).toHaveAttribute("aria-valuetext", told);
    await window.picture("indexing");
    await window.command("Sidecar: Cancel Indexing");
  });
  await expect(item(window)).toContainText(PARTIAL, { timeout: LONG_MS });
  await expect(window.webview().getByRole("link", { name: "Cancel" })).toHaveCount(0);
  await expect(window.notices).toHaveCount(0);

  await window.forgetStatusBar();
  const files = window.webview().locator(".card", { hasText: "Files" }).locator(".value");
  const before = await files.textContent();
  await window.search("approve an order");
  await expect(window.prompt).toContainText("Indexing was cancelled");
  await window.page.keyboard.press("Escape");
  await expect(item(window)).toContainText(PARTIAL);
  await expect(files).toHaveText(before ?? "");
  expect((await window.statusBarTexts()).filter((text) => text.includes("Indexing"))).toEqual([]);

  await window.webview().getByRole("link", { name: "Continue Indexing" }).click();
  await window.statusBarSaid(/Indexing \d+ %/, LONG_MS);
  await window.editor.whileHeld(async () => {
    await expect(window.webview().getByRole("link", { name: "Cancel" })).toBeVisible();
    await window.command("Sidecar: Cancel Indexing");
  });
  await expect(item(window)).toContainText(PARTIAL, { timeout: LONG_MS });
});

test("a build goes on when the window that began it closes, and is cancelled in another one", async ({
  window,
  browser,
}) => {
  const other = await window.another(browser);
  await other.command("Sidecar: Create Index");
  await expect(item(window)).toContainText(/Indexing \d+ %/, { timeout: LONG_MS });
  await other.page.close();
  await windowsAre(window, 1);
  await window.forgetStatusBar();
  await window.search("approve an order");
  const before = await filesSoFar(window);
  await window.page.keyboard.press("Escape");
  await expect(async () => {
    await window.search("approve an order");
    expect(await filesSoFar(window)).toBeGreaterThan(before);
  }).toPass({ timeout: LONG_MS });
  await window.page.keyboard.press("Escape");
  expect((await window.statusBarTexts()).filter((text) => text.includes("Partial"))).toEqual([]);
  await item(window).click();
  await expect(window.webview().getByRole("link", { name: "Cancel" })).toBeVisible();
  await window.webview().getByRole("link", { name: "Cancel" }).click();
  await expect(item(window)).toContainText(PARTIAL, { timeout: LONG_MS });
  await expect(window.webview().getByRole("link", { name: "Continue Indexing" })).toBeVisible();
});

test("what the last window leaves half made goes on by itself when the folder is opened again", async ({ window }) => {
  await window.command("Sidecar: Create Index");
  await window.statusBarSaid(/Indexing \d+ %/, LONG_MS);
  await window.page.goto("about:blank");
  await windowsAre(window, 0);
  const started = window.timesStarted();
  await window.open(false);
  await window.sidecarRuns(started + 1);
  await window.statusBarSaid(/Indexing \d+ %/, LONG_MS);
  await expect(window.notices).toHaveCount(0);
  await window.command("Sidecar: Cancel Indexing");
  await expect(item(window)).toContainText(PARTIAL, { timeout: LONG_MS });
});
