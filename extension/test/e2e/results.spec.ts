// The results view: kept results, why each was found, filters, Markdown, history.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator } from "@playwright/test";
import { expect, test, type Window } from "./test";

const QUESTION = "compress the response body";
const SCRIPT = `// Compresses the body of a response before it is sent.
export function compressResponseBody(response, body) {
  response.headers.set("content-encoding", "gzip");
  return gzip(body);
}
`;

async function keep(window: Window, query: string): Promise<void> {
  await window.command("Sidecar: Search Code");
  await window.input.fill(query);
  await expect(window.page.locator(".quick-input-list")).toContainText(/\d+ (of \d+ )?results? in/);
  await window.page.keyboard.press("Alt+K");
  // The view takes the focus when it is filled; before that it would take it from what comes next.
  await expect(rows(window).first()).toHaveAttribute("aria-selected", "true");
}

function rows(window: Window) {
  return window.page.locator(".part.sidebar").getByRole("treeitem");
}

function hits(window: Window) {
  return window.page.locator(".part.sidebar").getByRole("treeitem", { name: /score \d/ });
}

function copied(window: Window): Promise<string> {
  return window.page.evaluate(() => navigator.clipboard.readText());
}

/** The first of its lines that is shown: a click opens it there. */
async function lineOf(hit: Locator): Promise<number> {
  return Number(/lines (\d+) to/.exec((await hit.getAttribute("aria-label")) ?? "")?.[1]);
}

test("kept results stand by file with the words highlighted, and a click opens the line", async ({ window }) => {
  await keep(window, QUESTION);
  await expect(rows(window).first()).toHaveAccessibleName(/\.py, \d+ results?$/);
  await expect(hits(window).first().locator(".highlight").first()).toBeVisible();
  const name = (await hits(window).first().getAttribute("aria-label")) ?? "";
  await window.picture("results");
  await hits(window).first().click();
  await expect(window.page.locator(".tabs-container").getByRole("tab")).toHaveCount(1);
  expect(name).toMatch(/^\w+ .+, lines \d+ to \d+, score 0\.\d\d: /);
});

test("why a hit was found unfolds to the parts of its score", async ({ window }) => {
  await keep(window, QUESTION);
  await hits(window).first().click();
  await expect(hits(window).first()).toHaveAttribute("aria-selected", "true");
  await window.cursorIsAt(await lineOf(hits(window).first()));
  await window.command("Sidecar: Why This Hit");
  const why = rows(window).filter({ hasText: "Why this hit" });
  await expect(why).toBeVisible();
  for (const part of ["Words", "Meaning", "Rank of the file"])
    await expect(rows(window).filter({ hasText: part }).first()).toBeVisible();
  await window.picture("why-this-hit");
});

test("results are narrowed down to a folder and back", async ({ window }) => {
  await keep(window, QUESTION);
  const before = await rows(window).count();
  await window.command("Sidecar: Filter Results by Folder");
  await window.rows.filter({ hasText: "starlette/middleware" }).first().click();
  const message = window.page.locator(".part.sidebar .message");
  await expect(message.first()).toContainText(/\d+ of \d+ results: starlette\/middleware\//);
  await expect.poll(() => rows(window).count()).toBeLessThan(before);
  await window.picture("results-of-a-folder");
  await window.command("Sidecar: Clear Filter");
  await expect(rows(window)).toHaveCount(before);
});

test("results are narrowed down to a language, and what is copied then is what is shown", async ({ window }) => {
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  writeFileSync(join(window.editor.folder, "compress.js"), SCRIPT);
  await keep(window, QUESTION);
  const before = await rows(window).count();
  await window.command("Sidecar: Filter Results by Language");
  await expect(window.rows.filter({ hasText: "python" })).toContainText(/\d+ results?/);
  await window.rows.filter({ hasText: "javascript" }).click();
  const message = window.page.locator(".part.sidebar .message").first();
  await expect(message).toContainText(/1 of \d+ results: javascript/);
  await expect(hits(window)).toHaveCount(1);
  await window.picture("results-of-a-language");
  await window.command("Sidecar: Copy Results as Markdown");
  await expect(window.statusItem("1 result copied as Markdown")).toBeVisible();
  await expect.poll(() => copied(window)).toMatch(/### compress\.js:1-\d+ /);

  await window.command("Sidecar: Filter Results by Folder");
  await window.rows.filter({ hasText: "starlette/middleware" }).first().click();
  await expect(message).toContainText(/0 of \d+ results: javascript, starlette\/middleware\//);
  await window.command("Sidecar: Clear Filter");
  await expect(rows(window)).toHaveCount(before);
  rmSync(join(window.editor.folder, "compress.js"));
});

test("results are copied as Markdown", async ({ window }) => {
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await keep(window, QUESTION);
  await window.command("Sidecar: Copy Results as Markdown");
  await expect.poll(() => copied(window)).toContain(`## “${QUESTION}”, words and meaning: 30 results`);
  await expect(window.statusItem("30 results copied as Markdown")).toBeVisible();
  expect(await copied(window)).toMatch(/### starlette\/.+\.py:\d+-\d+ \(score 0\.\d\d\)\n\n```python\n/);
});

test("the history runs a search again", async ({ window }) => {
  await keep(window, QUESTION);
  await window.command("Sidecar: Clear Results");
  const past = window.page.locator(".part.sidebar").getByRole("treeitem", { name: new RegExp(QUESTION) });
  const header = window.page.locator(".part.sidebar").getByRole("button", { name: "History Section" });
  if ((await header.getAttribute("aria-expanded")) === "false") await header.click();
  await past.first().click();
  await expect(hits(window).first()).toBeVisible();
  await window.picture("history");
});
