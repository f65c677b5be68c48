// What is offered where a team has a snapshot of its main branch on a server, and what is said of an index from one.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { expect, test, type Window } from "./test";
import { indexWorkspace } from "./workspace";

const INDEXING_MS = 300_000;
const TWO_HOURS_MS = 2 * 3_600_000;
test.use({ editorOptions: { indexed: false } });

let server: Server;
/** What the server was asked for, by the last part of its address. */
let asked: string[] = [];
/** While it is set, half of a snapshot is sent, and the rest when it settles. */
let held: Promise<void> | undefined;
/** The settings that the test before has left. */
let inForce = "";

function shelf(window: Window): string {
  return join(window.editor.root, "shelf");
}

test.beforeAll(async ({ editor }) => {
  server = createServer(({ url = "" }, response) => {
    asked.push(basename(url));
    const file = join(editor.root, "shelf", basename(url));
    const content = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    response.writeHead(existsSync(file) ? 200 : 404, { "Content-Length": content.length });
    const half = held !== undefined && url.endsWith(".zst") ? content.length / 2 : 0;
    response.write(content.subarray(0, half));
    void (half > 0 ? held : Promise.resolve())?.then(() => response.end(content.subarray(half)));
  });
  await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
});

test.afterAll(() => void server.close());

/** As a person would set it; the offer comes with the next opening of the folder. */
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

/** CI indexes the branch main, from which the opened folder was cloned and which it is one commit ahead of. */
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

// One test: between two the window is tidied, and the offer would be gone.
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

test("a download is shown in megabytes wherever it is shown, and can be left for indexing here", async ({ window }) => {
  await setSource(window, { "sidecar.offline": false });
  const { program, folder, env } = window.editor;
  execFileSync(program, ["delete", "--yes"], { cwd: folder, env, stdio: "pipe" });
  let go = (): void => undefined;
  held = new Promise((settle) => (go = settle));
  try {
    await window.command("Sidecar: Create Index");
    await window.command("Sidecar: Show Index Status");
    const says = /Downloading the snapshot: [\d.]+ of [\d.]+ MB/;
    await expect(window.webview().locator(".progress p")).toContainText(says);
    expect(execFileSync(program, ["status"], { cwd: folder, env, encoding: "utf8" })).toMatch(says);
    await window.picture("snapshot-download");
    await window.webview().getByRole("link", { name: "Index Here Instead" }).click();
    await window.notice(/is indexed: 2.\d{3} files in/, [], INDEXING_MS);
  } finally {
    go();
    held = undefined;
  }
  await expect(window.webview().getByText("ready", { exact: true })).toBeVisible();
  await expect(window.webview().getByText("Started from")).toHaveCount(0);
});
