// A folder from when it is first opened: trust, welcome, indexing, status page, one file, reindexing, deleting.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";
import { indexWorkspace } from "./workspace";

const QUESTION = "compress the response body";
const INDEXING_MS = 300_000;
test.use({ editorOptions: { indexed: false, trusted: false } });

async function trust(window: Window): Promise<void> {
  await window.statusItem("Restricted Mode").click();
  const editor = window.page.locator(".workspace-trust-editor");
  await editor.getByRole("button", { name: "Trust", exact: true }).first().click();
  await window.sidecarRuns();
  // From now on the folder's own settings apply, and the sidecar may restart because of them.
  await expect.poll(() => window.editor.processes("--stdio")).toHaveLength(1);
}

function addSecret(window: Window): void {
  writeFileSync(join(window.editor.folder, ".env"), "PASSWORD=hunter2\n");
}

/** Brings a window, also a new one, to the state in which most tests begin: the folder is trusted and indexed. */
async function isIndexed(window: Window): Promise<void> {
  addSecret(window);
  if (window.timesStarted() === 0) await trust(window);
  indexWorkspace(window.editor.program, window.editor.folder, window.editor.env);
  await isUpToDate(window);
}

async function isUpToDate(window: Window): Promise<void> {
  const item = window.page.locator(".statusbar-item[id*='sidecar']");
  await expect(item.getByRole("button")).toHaveAccessibleName(/Sidecar: The index is up to date/);
}

test("in a folder that is not trusted nothing is started, and what is asked for says so", async ({ window }) => {
  await expect(window.statusItem("Restricted Mode")).toBeVisible();
  await expect.poll(() => window.editor.log()).toContain("not trusted");
  expect(window.editor.processes("--stdio")).toEqual([]);
  await window.searchSays(QUESTION, "Search is off in a folder that is not trusted");
  await expect(window.row(0)).toContainText("Press Enter: Manage Workspace Trust.");
  await window.picture("search-restricted");
  await window.page.keyboard.press("Escape");
  await window.openView();
  await expect(window.page.locator(".part.sidebar")).toContainText("Search is off in a folder that is not trusted.");
  await window.picture("restricted-mode");
  expect(window.editor.processes("--stdio")).toEqual([]);
  await window.command("View: Show Explorer");
});

// This is one test because the window is tidied between tests, which would close the offer.
test("trusting the folder starts the sidecar, which offers an index, and one click makes it", async ({ window }) => {
  addSecret(window);
  await trust(window);
  await expect(window.statusItem("Not indexed")).toBeVisible();
  await window.notice("to search it by meaning");
  await window.picture("welcome");
  await window.answer("to search it by meaning", "Create Index");
  await window.notice(/is indexed: 2.\d{3} files in/, [], INDEXING_MS);
  await expect(window.statusItem("Not indexed")).toHaveCount(0);
  await window.picture("indexed");
});

test("the status bar item tells files, chunks, model, device and size", async ({ window }) => {
  await isIndexed(window);
  const hover = await window.hover(window.page.locator(".statusbar-item[id*='sidecar']"), "Chunks");
  for (const part of ["Files", "Chunks", "Model", "Device", "Size"]) await expect(hover).toContainText(part);
  await window.picture("status-tooltip");
});

test("the status page shows languages, coverage, withheld secrets and exclusions", async ({ window }) => {
  await isIndexed(window);
  await window.command("Sidecar: Show Index Status");
  const page = window.webview();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("starlette");
  await expect(page.getByText("ready", { exact: true })).toBeVisible();
  await expect(page.getByRole("row", { name: /python/ })).toBeVisible();
  await expect(page.getByText("100 %").first()).toBeVisible();
  await expect(page.getByRole("link", { name: ".env" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Left out" })).toBeVisible();
  await window.picture("status-page");
});

for (const [theme, name] of [
  ["Light Modern", "light"],
  ["Dark High Contrast", "high-contrast"],
] as const)
  test(`the status page, the palette and the views can be read in ${name}`, async ({ window }) => {
    await isIndexed(window);
    await window.theme(theme);
    await window.command("Sidecar: Show Index Status");
    await expect(window.webview().getByText("ready", { exact: true })).toBeVisible();
    await window.picture(`status-page-${name}`);
    await window.search(QUESTION);
    await window.picture(`search-${name}`);
    await window.keep(QUESTION);
    await window.picture(`results-${name}`);
    await window.theme("Dark Modern");
  });

test("why a file is or is not indexed is said in words", async ({ window }) => {
  await isIndexed(window);
  await window.openFile("starlette/routing.py");
  await window.command("Sidecar: Why Is This File (Not) Indexed?");
  await expect(window.dialog).toContainText('"starlette/routing.py" is indexed and up to date.');
  await window.picture("why-indexed");
  await window.page.keyboard.press("Escape");
  await window.openFile(".env");
  await window.command("Sidecar: Why Is This File (Not) Indexed?");
  await expect(window.dialog).toContainText('".env" is not indexed.');
  await expect(window.dialog).toContainText("secret");
  await window.picture("why-not-indexed");
});

test("one file is indexed again", async ({ window }) => {
  await isIndexed(window);
  await window.openFile("starlette/routing.py");
  await window.command("Sidecar: Reindex This File");
  await window.statusBarSaid('"starlette/routing.py": indexed again');
});

test("reindexing asks first, and then makes the index anew", async ({ window }) => {
  await isIndexed(window);
  await window.command("Sidecar: Reindex Project");
  await expect(window.title).toContainText("Rebuild the search index of");
  await window.picture("question-to-reindex");
  await window.choose("Rebuild");
  await window.notice(/is indexed: 2.\d{3} files in/, [], INDEXING_MS);
  await isUpToDate(window);
});

test("deleting asks first: Keep keeps the index, Delete deletes it", async ({ window }) => {
  await isIndexed(window);
  await window.command("Sidecar: Delete Index");
  await expect(window.title).toContainText("Delete the search index of");
  await window.picture("question-to-delete");
  await window.choose("Keep");
  await expect(window.title).toBeHidden();
  await window.search(QUESTION);
  await window.page.keyboard.press("Escape");

  await window.command("Sidecar: Delete Index");
  await expect(window.title).toContainText("Delete the search index of");
  await window.choose("Delete index");
  await window.notice("has been deleted. Your files were not touched.");
  await expect(window.statusItem("Not indexed")).toBeVisible();
  await window.searchSays(QUESTION, "This folder is not indexed yet");
  await window.picture("not-indexed");
});
