// Several folders in one window, one folder in each of several windows, a folder without git, and no folder at all.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "@playwright/test";
import { Agent } from "./mcpClient";
import { expect, test, Window } from "./test";
import { indexWorkspace, makeWorkspace } from "./workspace";

const QUESTION = "send a message over a websocket";
const INDEXING_MS = 300_000;
test.use({ editorOptions: { second: "uvicorn", probe: true } });

/** Opens another window of the same editor; `asked` is the query of its address. */
async function another(window: Window, browser: Browser, asked: string): Promise<Window> {
  const { editor } = window;
  const page = await browser.newPage({ viewport: { width: 1280, height: 850 } });
  return new Window(page, { ...editor, url: `http://127.0.0.1:${editor.port}/?${asked}` });
}

async function inWindow(window: Window, browser: Browser, folder: string): Promise<Window> {
  const times = window.timesStarted();
  const opened = await another(window, browser, `folder=${encodeURIComponent(join(window.editor.root, folder))}`);
  await opened.open(false);
  await opened.sidecarRuns(times + 1);
  return opened;
}

/** Waits until the editor has stored a workspace with this folder there, and returns its file. */
async function workspaceWith(place: string, folder: string): Promise<string> {
  const holding = () => {
    const files = existsSync(place) ? readdirSync(place).map((name) => join(place, name)) : [];
    return files.find((file) => readFileSync(file, "utf8").includes(folder)) ?? "";
  };
  await expect.poll(holding).not.toBe("");
  return holding();
}

test("each folder has its MCP server, one search covers them all", async ({ window }) => {
  await expect.poll(() => window.editor.processes("--stdio")).toHaveLength(1);
  await window.openList("MCP: List Servers");
  for (const name of ["starlette", "uvicorn"])
    await expect(window.rows.filter({ hasText: `Sidecar (${name})` })).toBeVisible();
  await window.page.keyboard.press("Escape");

  await window.search(QUESTION);
  await expect(window.rows.filter({ hasText: "uvicorn" }).first()).toBeVisible();
  await expect(window.rows.filter({ hasText: "starlette" }).first()).toBeVisible();
  await window.picture("folders");
});

test("Search in This Folder asks about one folder of the workspace, or about one in it, and nowhere else", async ({
  window,
}) => {
  for (const name of ["starlette", "uvicorn"]) {
    mkdirSync(join(window.editor.root, name, "herons"));
    writeFileSync(join(window.editor.root, name, "herons/count.py"), "def count_the_herons():\n    return 3\n");
  }
  await expect(async () => {
    await window.search("count the herons");
    for (const name of ["starlette", "uvicorn"])
      await expect(window.rows.filter({ hasText: `${name}/herons/count.py` })).toHaveCount(1, { timeout: 5000 });
  }).toPass();
  await window.page.keyboard.press("Escape");
  await window.command("View: Show Explorer");
  const row = window.items.filter({ hasText: /^uvicorn$/ }).and(window.page.locator("[aria-level='1']"));
  await expect(async () => {
    await window.page.keyboard.press("Escape");
    await window.chooseFromMenuOf(row, "Search in This Folder");
    await expect(window.input).toHaveValue("path:./uvicorn ", { timeout: 5000 });
  }).toPass();
  await window.typesOn("count the herons");
  await window.answered();
  await expect(window.row(0)).toContainText("uvicorn/herons/count.py");
  await expect(window.rows.filter({ hasText: "starlette/" })).toHaveCount(0);
  await window.picture("search-in-one-of-two-folders");
  await window.fillAnew("path:./uvicorn/herons count the herons");
  await window.answered();
  await expect(window.rows.filter({ hasText: /\.py:/ })).toHaveCount(1);
  await window.searchSays("uvicorn/herons/count", "count.py", "Sidecar: Search by Path");
  await expect(window.row(0)).toContainText("uvicorn");
  for (const name of ["starlette", "uvicorn"]) rmSync(join(window.editor.root, name, "herons"), { recursive: true });
});

test("a folder that is taken out of the workspace file is searched no more and has no page, until it is back", async ({
  window,
}) => {
  const file = join(window.editor.root, "both.code-workspace");
  const both = readFileSync(file, "utf8");
  await window.chooseFrom("Sidecar: Show Index Status", "uvicorn");
  const page = window.tab("Sidecar Index: uvicorn");
  await expect(page).toBeVisible();
  writeFileSync(file, JSON.stringify({ folders: [{ path: "starlette" }] }));
  await expect(window.page.locator(".explorer-folders-view")).not.toContainText("uvicorn");
  await expect(page).toHaveCount(0);
  await window.search(QUESTION);
  await expect(window.rows.filter({ hasText: "starlette" }).first()).toBeVisible();
  await expect(window.rows.filter({ hasText: "uvicorn/" })).toHaveCount(0);
  await window.openList("MCP: List Servers");
  await expect(window.rows.filter({ hasText: "Sidecar" })).toHaveCount(1);
  await window.page.keyboard.press("Escape");
  writeFileSync(file, both);
  await expect(async () => {
    await window.search(QUESTION);
    await expect(window.rows.filter({ hasText: "uvicorn" }).first()).toBeVisible({ timeout: 5000 });
  }).toPass();
});

test("a folder that is added makes a workspace without a name, and one search covers both", async ({
  window,
  browser,
}) => {
  const first = await inWindow(window, browser, "starlette");
  // Not by the editor's own dialog: it takes whichever folder it lists at the moment of the key.
  await first.command("Probe: Add the Second Folder");
  const file = await workspaceWith(join(window.editor.root, "data/User/Workspaces"), "uvicorn");
  // The editor loads its page anew meanwhile, and the browser's driver may lose sight of it. Another window looks.
  await first.page.close();
  const times = window.timesStarted();
  const one = await another(window, browser, `workspace=${encodeURIComponent(file)}`);
  await one.open(false);
  await one.sidecarRuns(times + 1);
  await expect(one.page.locator(".explorer-folders-view")).toContainText("uvicorn");
  await expect(async () => {
    await one.search(QUESTION);
    await expect(one.rows.filter({ hasText: "uvicorn" }).first()).toBeVisible({ timeout: 5000 });
    await expect(one.rows.filter({ hasText: "starlette" }).first()).toBeVisible({ timeout: 5000 });
  }).toPass();
  await one.page.close();
});

test("two windows on two folders share one process, and neither sees or loses what is the other's", async ({
  window,
  browser,
}) => {
  const [one, other] = [await inWindow(window, browser, "starlette"), await inWindow(window, browser, "uvicorn")];
  await expect.poll(() => window.editor.processes("daemon run")).toHaveLength(1);
  for (const [mine, own, foreign] of [
    [one, "starlette", "uvicorn"],
    [other, "uvicorn", "starlette"],
  ] as const) {
    await mine.search(QUESTION);
    await expect(mine.rows.filter({ hasText: `${own}/` }).first()).toBeVisible();
    await expect(mine.rows.filter({ hasText: `${foreign}/` })).toHaveCount(0);
    await mine.page.keyboard.press("Escape");
  }
  await other.command("Sidecar: Delete Index");
  await expect(other.title).toContainText('Delete the search index of "uvicorn"');
  await other.choose("Delete index");
  await other.notice("has been deleted. Your files were not touched.");
  await expect(other.statusItem("Not indexed")).toBeVisible();
  await other.searchSays(QUESTION, "This folder is not indexed yet");
  await expect(one.question(/Delete|deleted/)).toHaveCount(0);
  await expect(one.statusItem("Not indexed")).toHaveCount(0);
  await one.search(QUESTION);
  await expect(one.rows.filter({ hasText: "starlette/" }).first()).toBeVisible();
  for (const { page } of [one, other]) await page.close();
  indexWorkspace(window.editor.program, join(window.editor.root, "uvicorn"), window.editor.env);
});

test("two folders of one name are told apart in palette, results, status, Agents and what is copied", async ({
  window,
  browser,
}) => {
  const { editor } = window;
  for (const [outer, bird] of [
    ["north", "heron"],
    ["south", "stork"],
  ] as const) {
    const folder = join(editor.root, outer, "app");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "birds.py"), `def count_the_birds():\n    """Counts each ${bird}."""\n    return 3\n`);
    indexWorkspace(editor.program, folder, editor.env);
  }
  const file = join(editor.root, "same.code-workspace");
  writeFileSync(file, JSON.stringify({ folders: [{ path: "north/app" }, { path: "south/app" }] }));
  const times = window.timesStarted();
  const same = await another(window, browser, `workspace=${encodeURIComponent(file)}`);
  await same.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await same.open(false);
  await same.sidecarRuns(times + 1);

  await same.search("count the birds");
  for (const folder of ["north/app", "south/app"])
    await expect(same.rows.filter({ hasText: `${folder}/birds.py:` })).toHaveCount(1);
  await same.page.keyboard.press("Alt+K");
  for (const folder of ["north/app", "south/app"])
    await expect(same.items.and(same.page.getByLabel(`${folder}/birds.py, 1 result`))).toBeVisible();
  await same.command("Sidecar: Copy Results as Markdown");
  await same.statusBarSaid("2 results copied as Markdown");
  const copied = await same.page.evaluate(() => navigator.clipboard.readText());
  for (const folder of ["north/app", "south/app"]) expect(copied).toContain(`### ${folder}/birds.py:1-3 (score`);

  // Whose state the item tells, with no file on screen: the first folder's.
  await same.hover(same.page.locator(".statusbar-item[id*='sidecar']"), "Sidecar: north/app");
  const agents = [];
  for (const folder of ["north/app", "south/app"]) {
    const agent = await Agent.start({ ...editor, folder: join(editor.root, folder) }, "robot");
    await agent.call("search_code", { query: "count the birds" });
    agents.push(agent);
  }
  for (const folder of ["north/app", "south/app"])
    await expect(
      same.items.and(same.page.getByLabel(`"count the birds", "robot", Search code, ${folder}, done`)),
    ).toBeVisible();
  await same.picture("folders-of-one-name");
  for (const agent of agents) await agent.stop();
  await same.page.close();
});

test("a folder without git is offered an index, and what is written there later is found", async ({
  window,
  browser,
}) => {
  const folder = join(window.editor.root, "plain");
  makeWorkspace(folder, "anyio", 2000);
  rmSync(join(folder, ".git"), { recursive: true });
  const plain = await inWindow(window, browser, "plain");
  await plain.answer("to search it by meaning", "Create Index");
  await plain.notice(/is indexed: 2.\d{3} files in/, [], INDEXING_MS);
  await plain.search("run a function in a worker thread");
  await expect(plain.rows.filter({ hasText: "anyio" }).first()).toBeVisible();
  await plain.page.keyboard.press("Escape");
  writeFileSync(join(folder, "heron.py"), "def count_the_herons():\n    return 3\n");
  await plain.searchSays("count the herons", "heron.py");
  await plain.page.close();
});

test("without a folder nothing is started, and what is asked for offers to open one", async ({ window, browser }) => {
  const before = window.editor.processes("--stdio");
  const empty = await another(window, browser, "ew=true");
  await empty.open(false);
  await empty.searchSays(QUESTION, "There is no folder to search");
  await empty.page.keyboard.press("Escape");
  await empty.openView();
  const view = empty.page.locator(".part.sidebar");
  await expect(view).toContainText("Open a folder to search its code.");
  await expect(view.getByRole("button", { name: "Open Folder" }).first()).toBeVisible();
  await expect(empty.statusItem("Not indexed")).toHaveCount(0);
  await expect(empty.notices.filter({ hasText: "to search it by meaning" })).toHaveCount(0);
  // Those of windows that were closed just before may end meanwhile.
  await expect.poll(() => window.editor.processes("--stdio").filter((id) => !before.includes(id))).toEqual([]);
  await empty.page.close();
});
