// Measures the time from opening a window to the first answer, and what the extension adds to the editor's start.
// Run by scripts/bench/bench-extension.
import { expect, test } from "@playwright/test";
import { startEditor } from "./editor";
import { Window } from "./window";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const CONTENT = process.env["CONTENT"] ?? "mcp";
/** The question about FOLDER, and the pattern of a hit in code. */
const QUESTION = process.env["QUESTION"] ?? "open a database connection";
const CODE = /\w+\.(rb|py|js|ts|go|rs|java|c|cpp|h):\d+/;
const QUERY = "reconnect after the stream broke";
/** The limit for one round on a folder without an index, enough for a busy machine. */
const NEVER_MS = 600_000;

type Times = Record<string, number[]>;

function keep(times: Times, name: string, since: number): void {
  (times[name] ??= []).push(performance.now() - since);
}

function print(title: string, times: Times): void {
  console.log(`\n${title} (${ROUNDS} rounds, milliseconds)`);
  for (const [name, all] of Object.entries(times)) {
    const sorted = all.toSorted((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] ?? NaN;
    const row = [median, sorted[0] ?? NaN, sorted.at(-1) ?? NaN].map((ms) => ms.toFixed(0).padStart(7));
    console.log(`  ${name.padEnd(44)} p50 ${row[0]}  min ${row[1]}  max ${row[2]}`);
  }
}

/** Returns how long the sidecar's `nth` start took (counted from 0), by the extension's log. */
function startOf(log: string, nth: number): number {
  const at = (state: string): number[] => {
    const lines = log.split("\n").filter((line) => line.endsWith(`[info] ${state}`));
    return lines.map((line) => Date.parse(line.slice(0, 23)));
  };
  return (at("running")[nth] ?? NaN) - (at("starting")[nth] ?? NaN);
}

test("from opening the window to the first answer", async ({ browser }) => {
  for (const shared of ["no daemon runs", "the daemon runs"]) {
    const times: Times = {};
    const editor = await startEditor({ content: CONTENT, files: 0 });
    for (let round = 0; round < ROUNDS; round++) {
      if (shared === "no daemon runs") for (const id of editor.processes("daemon run")) process.kill(id, "SIGKILL");
      const page = await browser.newPage();
      const window = new Window(page, editor);
      const before = window.timesStarted();
      const since = performance.now();
      await page.goto(editor.url);
      await expect(page.locator(".statusbar-item").first()).toBeVisible({ timeout: 60_000 });
      keep(times, "the editor's window is there", since);
      await window.command("Sidecar: Search Code");
      await window.input.fill(QUERY);
      await window.answered(60_000);
      keep(times, "first answer, asked for at once", since);
      (times["of it: from the sidecar's start to its readiness"] ??= []).push(startOf(editor.log(), before));
      await page.keyboard.press("Escape");
      const again = performance.now();
      await window.command("Sidecar: Search Code");
      await window.input.fill(QUERY);
      await window.answered(60_000);
      keep(times, "the next: open the palette, ask, answer", again);
      await page.close();
      await expect.poll(() => editor.processes("--stdio"), { timeout: 30_000 }).toEqual([]);
    }
    print(`Opening a window on an indexed folder; ${shared}`, times);
    await editor.stop();
  }
});

test("what the extension adds to the editor's start", async ({ browser }) => {
  const times: Times = {};
  const [bare, full] = [await startEditor({ extension: false, files: 0 }), await startEditor({ files: 0 })];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, editor] of Object.entries({ without: bare, with: full })) {
      const page = await browser.newPage();
      const since = performance.now();
      await page.goto(editor.url);
      await expect(page.locator(".statusbar-item").first()).toBeVisible({ timeout: 60_000 });
      keep(times, `window there, ${name} the extension`, since);
      await expect(page.getByRole("treeitem", { name: "README.md" })).toBeVisible({ timeout: 60_000 });
      keep(times, `files listed, ${name} the extension`, since);
      if (editor === full) await activation(new Window(page, editor), times);
      await page.close();
    }
  }
  print("The editor's start", times);
  await bare.stop();
  await full.stop();
});

test("from opening the window to the first code hit in a folder that was never indexed", async ({ browser }) => {
  const source = process.env["FOLDER"];
  test.skip(source === undefined, "FOLDER names the folder");
  test.setTimeout((ROUNDS + 1) * NEVER_MS);
  const times: Times = {};
  for (let round = 0; round < ROUNDS; round++) {
    const editor = await startEditor({ content: "work", source, indexed: false, files: 0 });
    const page = await browser.newPage();
    try {
      await toFirstHit(new Window(page, editor), times);
    } finally {
      await page.close();
      await editor.stop();
    }
  }
  print(`A folder that was never indexed: ${source}`, times);
});

async function toFirstHit(window: Window, times: Times): Promise<void> {
  const since = performance.now();
  await window.open(false);
  keep(times, "the editor's window is there", since);
  await window.command("Sidecar: Create Index");
  keep(times, "Create Index is pressed", since);
  await window.command("Sidecar: Search Code");
  // A file that is not yet indexed is found by asking again; a search that is under way is not interrupted for that.
  await expect(async () => {
    await window.input.fill("");
    await window.input.fill(QUESTION);
    await expect(window.row(0)).toContainText(CODE, { timeout: 3000 });
  }).toPass({ intervals: [0], timeout: NEVER_MS });
  keep(times, "first code hit, asked for at once", since);
  console.log(`first hit: ${(await window.row(0).textContent()) ?? ""}`);
}

/** Returns the time that the editor itself has measured. */
async function activation(window: Window, times: Times): Promise<void> {
  await window.command("Developer: Show Running Extensions");
  const entry = window.page.locator(".runtime-extensions-editor .extension", { hasText: "Sidecar" });
  await expect(entry).toContainText(/Activation: \d+ms/, { timeout: 60_000 });
  const [, ms] = /Activation: (\d+)ms/.exec((await entry.textContent()) ?? "") ?? [];
  (times["the extension's activation, as the editor says"] ??= []).push(Number(ms));
}
