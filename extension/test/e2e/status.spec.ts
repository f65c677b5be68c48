// What the status bar says of an index that is not simply ready, each by what causes it. The model is the slow one, so
// that indexing takes long enough to be seen.
import { chmodSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";
import { indexWorkspace, sourceOf } from "./workspace";

const INDEXING_MS = 200_000;
const LINES = 50;

test.use({
  editorOptions: {
    content: "h11",
    indexed: false,
    machine: { "sidecar.model": "minilm-code-int8", "sidecar.twoStage": false },
  },
});
test.describe.configure({ timeout: 400_000 });

function item(window: Window) {
  return window.page.locator(".statusbar-item[id*='sidecar.status']");
}

async function isReady(window: Window): Promise<void> {
  const button = item(window).getByRole("button");
  await expect(button).toHaveAccessibleName(/The index is up to date/, { timeout: INDEXING_MS });
}

/** When changes are indexed from now on. An index that is open keeps its way, so all is begun anew. */
async function follow(window: Window, strategy: string): Promise<void> {
  const started = window.timesStarted();
  window.setMachine({ "sidecar.indexingStrategy": strategy });
  await window.sidecarRuns(started + 1);
  await window.command("Sidecar: Restart");
  await window.sidecarRuns(started + 2);
}

/** What most tests begin with, also in a window that has just been opened. */
async function isIndexed(window: Window): Promise<void> {
  indexWorkspace(window.editor.program, window.editor.folder, window.editor.env);
  await isReady(window);
}

test("while it is indexed the item tells percent and time left, and the page the same", async ({ window }) => {
  // Progress is told for every 64 files, so there are some more of them.
  const lines = sourceOf("starlette").split("\n");
  for (let at = 0; at < lines.length; at += LINES)
    writeFileSync(join(window.editor.folder, `part${at / LINES}.py`), lines.slice(at, at + LINES).join("\n"));
  await window.command("Sidecar: Show Index Status");
  await window.webview().getByRole("link", { name: "Create Index" }).click();
  await window.statusBarSaid(/Indexing \d+ %, \d+ (s|min) left/, INDEXING_MS);
  await window.editor.whileHeld(async () => {
    await expect(item(window)).toContainText(/Indexing \d+ %, \d+ (s|min) left/);
    const told = /\d+ of \d+ files, \d+ %, about \d+ (s|min) left/;
    await expect(window.webview().getByText(told)).toBeVisible();
    const bar = window.webview().getByRole("progressbar", { name: "Indexing" });
    await expect(bar).toHaveAttribute("aria-valuenow", /^\d+$/);
    await expect(bar).toHaveAttribute("aria-valuetext", told);
    await window.picture("indexing");
  });
  await isReady(window);
  await expect(window.webview().getByText("ready", { exact: true })).toBeVisible();
});

test("a big new file makes it partial until all of the file has its vectors", async ({ window }) => {
  await isIndexed(window);
  await window.forgetStatusBar();
  writeFileSync(join(window.editor.folder, "everything.py"), sourceOf("uvicorn"));
  await window.statusBarSaid(/Partial \d+ %/, INDEXING_MS);
  await window.editor.whileHeld(async () => {
    await expect(item(window)).toContainText(/Partial \d+ %/);
    const hover = await window.hover(item(window), "searches may miss something");
    await expect(hover.getByRole("link", { name: "Show Index Status" })).toBeVisible();
    await window.picture("partial");
  });
  await isReady(window);
  await expect(item(window)).not.toContainText("Partial");
});

test("files that have changed make it stale, and the next search brings it up to date", async ({ window }) => {
  await isIndexed(window);
  await follow(window, "lazy");
  await isReady(window);
  const file = join(window.editor.folder, "heron.py");
  // What changes before the watching has begun is found by the next search, and not told before.
  await expect(async () => {
    writeFileSync(file, `def count_the_herons():\n    return ${Date.now()}\n`);
    await expect(item(window)).toContainText(/\d+ changed/, { timeout: 4000 });
  }).toPass();
  await window.hover(item(window), "They are indexed before the next search.");
  await window.picture("stale");
  await window.searchSays("count the herons", "heron.py");
  await window.page.keyboard.press("Escape");
  await isReady(window);
});

test("a file that cannot be read is told on the page, and why", async ({ window }) => {
  await isIndexed(window);
  await follow(window, "realtime");
  const file = join(window.editor.folder, "locked.py");
  writeFileSync(file, "x = 1\n");
  chmodSync(file, 0);
  await window.command("Sidecar: Show Index Status");
  await expect(window.webview().getByRole("heading", { name: "Errors (1)" })).toBeVisible();
  await expect(window.webview().getByRole("listitem").filter({ hasText: "locked.py" })).toContainText(
    "cannot be read: Permission denied",
  );
  await window.picture("unreadable-file");
  await window.webview().getByRole("link", { name: "locked.py" }).click();
  await expect(window.dialog).toContainText("cannot be read");
  await window.page.keyboard.press("Escape");
  rmSync(file);
});

test("a damaged index has failed, and the item leads to what makes it anew", async ({ window }) => {
  await isIndexed(window);
  damage(join(window.editor.root, "home/indexes"));
  for (const id of window.editor.processes("daemon run")) process.kill(id, "SIGKILL");
  await window.command("Sidecar: Restart");
  await expect(item(window)).toContainText("Index failed");
  await window.hover(item(window), "Reindexing the project rebuilds it.");
  await window.picture("failed");
  await item(window).click();
  const page = window.webview();
  await expect(page.getByText("failed", { exact: true })).toBeVisible();
  await expect(page.getByText("The index is corrupted or invalid.")).toBeVisible();
  await window.picture("status-page-failed");
  await window.searchSays("count the herons", "The index is damaged");
  await expect(window.row(0)).toContainText("Press Enter: Reindex Project.");
  await window.page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Reindex" }).click();
  await expect(window.title).toContainText("Rebuild the search index of");
  await window.choose("Rebuild");
  await isReady(window);
  await expect(page.getByText("ready", { exact: true })).toBeVisible();
});

/** What a full disk or a broken one leaves of an index: its file is there and is no database. */
function damage(indexes: string): void {
  const files = readdirSync(indexes, { recursive: true, encoding: "utf8" }).map((name) => join(indexes, name));
  for (const file of files.filter((name) => /manifest\.sqlite-/.test(name))) rmSync(file);
  for (const file of files.filter((name) => name.endsWith("manifest.sqlite"))) writeFileSync(file, "x".repeat(50_000));
}
