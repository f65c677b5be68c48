// The status bar item, the palette, the status page and the shell say the same about an index, whatever happens to it.
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Agent } from "./mcpClient";
import { expect, test, type Window } from "./test";

const UP_TO_DATE = /Sidecar: The index is up to date/;
const QUESTION = "compress the response body";
const LONG_MS = 200_000;

function item(window: Window) {
  return window.page.locator(".statusbar-item[id*='sidecar.status']");
}

async function isReady(window: Window): Promise<void> {
  await expect(item(window).getByRole("button")).toHaveAccessibleName(UP_TO_DATE, { timeout: LONG_MS });
}

function git(window: Window, ...args: string[]): void {
  const who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
  execFileSync("git", [...who, ...args], { cwd: window.editor.folder, stdio: "pipe" });
}

function statusInShell(window: Window): string {
  const { program, folder, env } = window.editor;
  return execFileSync(program, ["status"], { cwd: folder, env, encoding: "utf8" });
}

async function answersAfter(window: Window, deed: () => void, query: string, text: string | RegExp): Promise<void> {
  await window.command("Sidecar: Search Code");
  await window.editor.whileHeld(async () => {
    await window.input.fill(query);
    await expect(window.page.locator(".quick-input-widget .monaco-progress-container.active")).toHaveCount(1);
    deed();
  });
  await window.answered();
  await expect(window.row(0)).toContainText(text);
}

test("after a branch switch the item tells that it is checked, until a search finds what is new", async ({
  window,
}) => {
  await isReady(window);
  git(window, "switch", "--quiet", "--create", "other");
  rmSync(join(window.editor.folder, "services/orders"), { recursive: true });
  writeFileSync(join(window.editor.folder, "heron.py"), "def count_the_herons():\n    return 3\n");
  git(window, "add", ".");
  git(window, "commit", "--quiet", "--message=other");
  git(window, "switch", "--quiet", "main");
  await window.searchSays("approve orders", "orders");
  await window.page.keyboard.press("Escape");
  await isReady(window);
  await window.forgetStatusBar();
  git(window, "switch", "--quiet", "other");
  await window.statusBarSaid(/Checking|changed|Indexing|Partial/);
  await window.searchSays("count the herons", "heron.py");
  await isReady(window);
  await window.search("approve orders");
  await expect(window.prompt).toBeHidden();
  await expect(window.list).not.toContainText("services/orders");
  await window.page.keyboard.press("Escape");
  await window.command("Sidecar: Show Index Status");
  await expect(window.webview().getByText("ready", { exact: true })).toBeVisible();
  expect(statusInShell(window)).toMatch(/status\s+ready/);
});

test("after a commit the item is up to date again by itself, without a search", async ({ window }) => {
  await isReady(window);
  await window.forgetStatusBar();
  writeFileSync(join(window.editor.folder, "curlew.py"), "def count_the_curlews():\n    return 3\n");
  git(window, "add", ".");
  git(window, "commit", "--quiet", "--message=curlews");
  await window.statusBarSaid(/Checking|changed/);
  await isReady(window);
});

test("a removed index folder that is made anew is ready, without a restart", async ({ window }) => {
  await isReady(window);
  const started = window.timesStarted();
  const indexes = join(window.editor.root, "home/indexes");
  for (const name of readdirSync(indexes)) rmSync(join(indexes, name), { recursive: true, force: true });
  await window.searchSays(QUESTION, "This folder is not indexed yet");
  await expect(item(window)).toContainText("Not indexed");
  await window.page.keyboard.press("Enter");
  // The previous test may have left a branch with fewer files.
  await window.notice(/is indexed: [12].\d{3} files in/, [], LONG_MS);
  await isReady(window);
  await window.searchSays(QUESTION, "starlette/");
  await window.page.keyboard.press("Escape");
  await window.command("Sidecar: Show Index Status");
  await expect(window.webview().getByText("ready", { exact: true })).toBeVisible();
  expect(statusInShell(window)).toMatch(/status\s+ready/);
  expect(window.timesStarted()).toBe(started);
});

test("what an agent builds is building in Agents, item, page and palette, and then in none of them", async ({
  window,
}) => {
  await isReady(window);
  await window.command("Sidecar: Show Index Status");
  await window.openView();
  await window.forgetStatusBar();
  const agent = await Agent.start(window.editor, "robot");
  const rebuilt = agent.call("reindex_project");
  await window.answerQuestion(/Rebuild the search index/, "Rebuild");
  await window.statusBarSaid(/Indexing \d+ %/, LONG_MS);
  const row = window.items.and(window.page.getByLabel(/^Reindex project, "robot"/));
  await window.editor.whileHeld(async () => {
    await expect(row).toHaveAccessibleName(/running/);
    await expect(item(window)).toContainText("Indexing");
    await expect(window.webview().getByText("indexing", { exact: true })).toBeVisible();
  });
  expect(await rebuilt).toMatchObject({ status: "reindexed" });
  await expect(row).toHaveAccessibleName(/done/);
  await isReady(window);
  await expect(window.webview().getByText("ready", { exact: true })).toBeVisible();
  expect(statusInShell(window)).toMatch(/status\s+ready/);
  await window.search(QUESTION);
  await expect(window.prompt).toBeHidden();
  await agent.stop();
});

test("a search in the shell goes on by itself when the shared process is killed", async ({ window }) => {
  await isReady(window);
  const { program, folder, env } = window.editor;
  const asked = await window.editor.whileHeld(async () => {
    const answer = promisify(execFile)(program, ["search", QUESTION], { cwd: folder, env });
    await expect.poll(() => window.editor.processes(`search ${QUESTION}`)).not.toHaveLength(0);
    window.editor.kill("daemon run");
    return { answer };
  });
  expect((await asked.answer).stdout).toContain("gzip.py");
});

test("a search goes on by itself when the shared process is killed", async ({ window }) => {
  await isReady(window);
  const kill = () => window.editor.kill("daemon run");
  await answersAfter(window, kill, QUESTION, /\w+\.py:\d+/);
  await expect(window.notices).toHaveCount(0);
});

test("a search goes on by itself when the editor's own process is killed, the first time", async ({ window }) => {
  await isReady(window);
  const started = window.timesStarted();
  const kill = () => window.editor.kill("--stdio");
  await answersAfter(window, kill, QUESTION, /\w+\.py:\d+/);
  await expect(window.notices).toHaveCount(0);
  expect(window.timesStarted()).toBe(started + 1);
  await window.page.keyboard.press("Escape");
  kill();
  await window.notice("Sidecar has ended unexpectedly, again within a minute.", ["Restart", "Show Log"]);
  await window.answer("Sidecar has ended unexpectedly", "Restart");
  await window.sidecarRuns(started + 2);
});

test("a search before the sidecar runs says what is going on, and is answered when it does", async ({ window }) => {
  const { root, program } = window.editor;
  const [slow, go] = [join(root, "bin/slow"), join(root, "go")];
  writeFileSync(slow, `#!/bin/sh\nwhile [ ! -e '${go}' ]; do sleep 0.1; done\nexec '${program}' "$@"\n`);
  chmodSync(slow, 0o755);
  expect(existsSync(go)).toBe(false);
  const started = window.timesStarted();
  window.setMachine({ "sidecar.path": slow });
  await expect(item(window)).toContainText("Sidecar");
  await window.searchSays(QUESTION, "Sidecar is starting");
  await expect(window.row(0)).toContainText("Your question is answered as soon as it runs.");
  writeFileSync(go, "");
  await expect(window.row(0)).toContainText(/\w+\.py:\d+/, { timeout: LONG_MS });
  await window.page.keyboard.press("Escape");
  window.setMachine({ "sidecar.path": program });
  // The next test counts the starts.
  await window.sidecarRuns(started + 2);
});

test("a palette that is opened while everything is begun anew is answered", async ({ window }) => {
  await isReady(window);
  const started = window.timesStarted();
  await window.command("Sidecar: Restart");
  await window.command("Sidecar: Search Code");
  await window.fillAnew(QUESTION);
  await expect(window.row(0)).toContainText(/\w+\.py:\d+/, { timeout: LONG_MS });
  await expect(window.notices).toHaveCount(0);
  expect(window.timesStarted()).toBe(started + 1);
});

test("a folder that is renamed while it is open is said to be gone, and is searched again when it is back", async ({
  window,
}) => {
  await isReady(window);
  const { folder } = window.editor;
  renameSync(folder, `${folder}-elsewhere`);
  await window.searchSays(QUESTION, "There is no folder to search");
  await expect(window.row(0)).toContainText("Press Enter: Open Folder.");
  await window.picture("folder-gone");
  await window.page.keyboard.press("Escape");
  const item = window.statusItem("Folder not found");
  await expect(item).toBeVisible({ timeout: LONG_MS });
  const hover = await window.hover(item, "The folder is not there now, and is searched again when it is back.");
  await expect(hover).not.toContainText(/changed|could not|try again/);
  renameSync(`${folder}-elsewhere`, folder);
  await window.searchSays(QUESTION, /starlette\/.*\.py:\d+/);
  await isReady(window);
});

test("exclude takes effect when it is set, and again when it is taken back", async ({ window }) => {
  await isReady(window);
  window.setMachine({ "sidecar.exclude": ["services/taxes/**"] });
  await expect(async () => {
    await window.searchSays("services/taxes/", /Nothing found|No |none/, "Sidecar: Search by Path");
  }).toPass({ timeout: LONG_MS });
  await window.page.keyboard.press("Escape");
  window.setMachine({ "sidecar.exclude": [] });
  await expect(async () => {
    await window.searchSays("services/taxes/", "_taxes_", "Sidecar: Search by Path");
  }).toPass({ timeout: LONG_MS });
});

test("include and the size of files take effect when they are set, and again when they are taken back", async ({
  window,
}) => {
  await isReady(window);
  const big = "starlette/applications.py";
  for (const [setting, value, usual] of [
    ["sidecar.include", ["services/**"], ["**/*"]],
    ["sidecar.maxFileSize", "1KB", "1MB"],
  ] as const) {
    window.setMachine({ [setting]: value });
    await expect(async () => {
      await window.searchSays(big, "Nothing found", "Sidecar: Search by Path");
    }).toPass({ timeout: LONG_MS });
    await window.searchSays("services/taxes/", "_taxes_", "Sidecar: Search by Path");
    await window.page.keyboard.press("Escape");
    window.setMachine({ [setting]: usual });
    await expect(async () => {
      await window.searchSays(big, "applications.py", "Sidecar: Search by Path");
    }).toPass({ timeout: LONG_MS });
    await window.page.keyboard.press("Escape");
  }
});

test("a model takes effect when it is set: one that is not there leaves words only, until it is taken back", async ({
  window,
}) => {
  await isReady(window);
  window.setMachine({ "sidecar.model": "no-such-model" });
  await expect(item(window)).toContainText("Words only", { timeout: LONG_MS });
  await window.search(QUESTION);
  await expect(window.prompt).toContainText("Searched by word only");
  await window.page.keyboard.press("Escape");
  window.setMachine({ "sidecar.model": "static-code-256" });
  await isReady(window);
  await window.search(QUESTION);
  await expect(window.prompt).toBeHidden();
  await expect(window.row(0)).toContainText(/\w+\.py:\d+/);
});

test("what the folder's own settings exclude takes the place of what the person's do", async ({ window }) => {
  await isReady(window);
  const own = join(window.editor.folder, ".vscode");
  const finds = async (area: string, text: string | RegExp): Promise<void> => {
    await expect(async () => {
      await window.searchSays(`services/${area}/`, text, "Sidecar: Search by Path");
    }).toPass({ timeout: LONG_MS });
    await window.page.keyboard.press("Escape");
  };
  window.setMachine({ "sidecar.exclude": ["services/taxes/**"] });
  await finds("taxes", "Nothing found");
  mkdirSync(own);
  writeFileSync(join(own, "settings.json"), JSON.stringify({ "sidecar.exclude": ["services/returns/**"] }));
  await finds("returns", "Nothing found");
  await finds("taxes", "_taxes_");
  rmSync(own, { recursive: true });
  await finds("returns", "_returns_");
  await finds("taxes", "Nothing found");
  window.setMachine({ "sidecar.exclude": [] });
  await finds("taxes", "_taxes_");
});

test("a value that cannot be used is said, with the values that can", async ({ window }) => {
  window.setMachine({ "sidecar.maxFileSize": "enormous" });
  await window.notice(/maxFileSize/);
  await window.picture("wrong-value");
  window.setMachine({ "sidecar.maxFileSize": "1MB", "sidecar.hybridSearch.defaultAlpha": 7 });
  await window.notice(/defaultAlpha.*0.*1/);
  window.setMachine({ "sidecar.hybridSearch.defaultAlpha": 0.5 });
});
