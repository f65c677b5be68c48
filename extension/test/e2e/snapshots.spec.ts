// The offer to use a team's snapshot of its main branch from a server, and what is shown about an index made from one.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { expect, test, type Window } from "./test";
import { indexWorkspace } from "./workspace";

const INDEXING_MS = 300_000;
const TWO_HOURS_MS = 2 * 3_600_000;
test.use({ editorOptions: { indexed: false } });

let server: Server;
/** The requests that the server got, each by the last part of its address. */
let asked: string[] = [];
/** Whether the snapshot is sent so slowly that a user has time to change their mind. */
let isSlow = false;
/** The settings that the previous test has left. */
let inForce = "";

function shelf(window: Window): string {
  return join(window.editor.root, "shelf");
}

test.beforeAll(async ({ editor }) => {
  server = createServer(({ url = "" }, response) => {
    asked.push(basename(url));
    const file = join(editor.root, "shelf", basename(url));
    if (!existsSync(file)) return void response.writeHead(404).end();
    const content = readFileSync(file);
    response.writeHead(200, { "content-length": content.length });
    if (isSlow && file.endsWith(".zst")) trickle(response, content);
    else response.end(content);
  });
  await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
});

test.afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/**
 * Sends at a little more than the slowest pace that is accepted, measured from the start, so that it is kept on a busy
 * machine too.
 */
function trickle(response: ServerResponse, content: Buffer): void {
  const [began, bytesPerMs] = [performance.now(), 30];
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.round((performance.now() - began) * bytesPerMs);
    response.write(content.subarray(sent, (sent = Math.max(sent, due))));
  }, 250);
  response.on("close", () => clearInterval(timer));
}

/** Sets the source as a user would. The offer appears when the folder is next opened. */
async function setSource(window: Window, settings: Record<string, unknown> = {}): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const wanted = { "sidecar.snapshotSource": `http://127.0.0.1:${port}/team`, ...settings };
  if (JSON.stringify(wanted) !== inForce) {
    const started = window.timesStarted();
    window.setMachine(wanted);
    await window.sidecarRuns(started + 1);
    inForce = JSON.stringify(wanted);
  }
  asked = [];
  await window.page.reload();
}

/** Indexes the branch main, as CI does. The opened folder was cloned from main and is one commit ahead of it. */
function makeSnapshot(window: Window): void {
  const { folder, root, env, program } = window.editor;
  const ci = join(root, "ci");
  const git = (cwd: string, ...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd, stdio: "pipe" });
  git(root, "clone", "--quiet", folder, ci);
  indexWorkspace(program, ci, env);
  execFileSync(program, ["snapshot", "make", "--out", shelf(window), "--workspace", ci], { env, stdio: "pipe" });
  const list = join(shelf(window), "heads.json");
  const listed = JSON.parse(readFileSync(list, "utf8")) as { heads: { made: string }[] };
  for (const head of listed.heads) head.made = new Date(Date.now() - TWO_HOURS_MS).toISOString();
  writeFileSync(list, JSON.stringify(listed));
  git(folder, "remote", "add", "origin", ci);
  git(folder, "fetch", "--quiet", "origin");
  git(folder, "remote", "set-head", "origin", "--auto");
  writeFileSync(join(folder, "heron.py"), "def count_the_herons():\n    return 3\n");
  git(folder, "add", "heron.py");
  git(folder, "commit", "--quiet", "--message=herons");
}

function removeIndexes(window: Window): void {
  const indexes = join(window.editor.root, "home/indexes");
  if (existsSync(indexes)) for (const name of readdirSync(indexes)) rmSync(join(indexes, name), { recursive: true });
}

test("without a source no server is asked, and the offer says so", async ({ window }) => {
  await window.notice("and no network is used", ["Create Index"]);
  expect(asked).toEqual([]);
});

test("offline the source is not asked, and the offer says why no snapshot is taken", async ({ window }) => {
  await setSource(window, { "sidecar.offline": true });
  await window.notice(/No snapshot of your team's can be taken: The setting offline forbids/, ["Create Index"]);
  expect(asked).toEqual([]);
});

test("a source that holds nothing is said to hold nothing", async ({ window }) => {
  await setSource(window, { "sidecar.offline": false });
  await window.notice(/No snapshot of your team's can be taken: There are no snapshots at/, ["Create Index"]);
  expect([...new Set(asked)]).toEqual(["heads.json"]);
});

// This is one test because the window is tidied between tests, which would close the offer.
test("a snapshot is offered with branch, age and size, one click takes it, and page and item say so", async ({
  window,
}) => {
  makeSnapshot(window);
  await setSource(window, { "sidecar.offline": false });
  const offer = /"main" was indexed 2 h ago, 1 commit before yours: [\d.]+ MB instead of reading 2.\d{3} files here\./;
  await window.notice(offer, ["Use Snapshot", "Index Here Instead", "Not Now"]);
  await window.picture("snapshot-offer");
  expect([...new Set(asked)]).toEqual(["heads.json"]);
  await window.hover(window.statusItem("Not indexed"), '"main" was indexed 2 h ago');
  await window.answer(offer, "Use Snapshot");
  await window.notice(/It started from the snapshot of commit .*, 1 commit before this one/, [], INDEXING_MS);
  expect(asked.filter((name) => name.endsWith(".zst"))).toHaveLength(1);

  const item = window.page.locator(".statusbar-item[id*='sidecar']");
  const hover = await window.hover(item, "Started from");
  await expect(hover).toContainText(/snapshot of commit [0-9a-f]{10}, made 2 h ago/);
  await window.command("Sidecar: Show Index Status");
  await expect(window.webview().getByText(/Started from: snapshot of commit/)).toContainText("made 2 h ago at http");
  await window.picture("snapshot-page");
  await window.searchSays("count the herons", "heron.py");
});

test("an offer that is clicked when the index is there already says so, and fetches nothing", async ({ window }) => {
  if (!existsSync(shelf(window))) makeSnapshot(window);
  removeIndexes(window);
  await setSource(window, { "sidecar.offline": false });
  const offer = /"main" was indexed 2 h ago/;
  await window.notice(offer);
  const { program, folder, env } = window.editor;
  indexWorkspace(program, folder, env);
  await expect(window.statusItem("Not indexed")).toHaveCount(0);
  asked = [];
  await window.answer(offer, "Use Snapshot");
  await window.notice(/"starlette" is indexed already: 2.\d{3} files\./, ["Show Index Status"]);
  expect(asked).toEqual([]);
});

test("Index Here Instead, clicked while the snapshot is on its way, ends the download and reads the folder", async ({
  window,
}) => {
  if (!existsSync(shelf(window))) makeSnapshot(window);
  removeIndexes(window);
  isSlow = true;
  await setSource(window, { "sidecar.offline": false });
  await window.notice(/"main" was indexed 2 h ago/);
  await window.command("Sidecar: Show Index Status");
  const here = window.webview().getByRole("link", { name: "Index Here Instead" });
  await expect(here).toBeVisible();
  await window.command("Sidecar: Create Index");
  await expect.poll(() => asked.filter((name) => name.endsWith(".zst"))).toHaveLength(1);
  await expect(window.webview().getByRole("link", { name: "Cancel" })).toBeVisible();
  await window.picture("snapshot-download");
  // The editor takes back no message, so the offer is still there.
  await window.answer(/"main" was indexed 2 h ago/, "Use Snapshot");
  await window.notice(/^(?!Index ).*"starlette" is being indexed already/);
  expect(asked.filter((name) => name.endsWith(".zst"))).toHaveLength(1);
  await here.click();
  await window.notice(/is indexed: 2.\d{3} files in/, [], INDEXING_MS);
  isSlow = false;
  await expect(window.notices.filter({ hasText: /tarted from|[Cc]ancel|[Ff]ailed/ })).toHaveCount(0);
  await expect(window.webview().getByText("ready", { exact: true })).toBeVisible({ timeout: INDEXING_MS });
  await expect(window.webview().getByText("Started from")).toHaveCount(0);
  await window.searchSays("count the herons", "heron.py");
});
