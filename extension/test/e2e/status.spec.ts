// What the status bar says about an index that is not simply ready, for each cause.
import { chmodSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";
import { indexWorkspace } from "./workspace";

const INDEXING_MS = 200_000;

// This file has an editor of its own because it changes how file changes are followed.
test.use({ editorOptions: { machine: { "sidecar.indexingStrategy": "lazy" } } });

function item(window: Window) {
  return window.page.locator(".statusbar-item[id*='sidecar.status']");
}

async function isReady(window: Window): Promise<void> {
  const button = item(window).getByRole("button");
  await expect(button).toHaveAccessibleName(/The index is up to date/, { timeout: INDEXING_MS });
}

/** Sets when changes are indexed. An open index keeps its strategy, so the sidecar is restarted. */
async function follow(window: Window, strategy: string): Promise<void> {
  const started = window.timesStarted();
  window.setMachine({ "sidecar.indexingStrategy": strategy });
  await window.sidecarRuns(started + 1);
  await window.command("Sidecar: Restart");
  await window.sidecarRuns(started + 2);
}

/** Brings a window, also a new one, to the state in which most tests begin. */
async function isIndexed(window: Window): Promise<void> {
  indexWorkspace(window.editor.program, window.editor.folder, window.editor.env);
  await isReady(window);
}

test("files that have changed make it stale, and the next search brings it up to date", async ({ window }) => {
  await isIndexed(window);
  const file = join(window.editor.folder, "heron.py");
  // A change made before watching has begun is found by the next search, and is not reported earlier.
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
  window.editor.kill("daemon run");
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

/** Leaves the index as a full or broken disk would: the manifest exists and is not a database. */
function damage(indexes: string): void {
  const files = readdirSync(indexes, { recursive: true, encoding: "utf8" }).map((name) => join(indexes, name));
  for (const file of files.filter((name) => /manifest\.sqlite-/.test(name))) rmSync(file);
  for (const file of files.filter((name) => name.endsWith("manifest.sqlite"))) writeFileSync(file, "x".repeat(50_000));
}
