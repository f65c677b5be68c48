// The results view: kept results, the reasons for each, filters, Markdown, history.
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

function hits(window: Window) {
  return window.page.locator(".part.sidebar").getByRole("treeitem", { name: /score \d/ });
}

/** The rows of files. Only these are counted, because the number of other rows changes while the view fills. */
async function files(window: Window): Promise<string[]> {
  const rows = window.page.locator(".part.sidebar [role=treeitem][aria-level='1']");
  const names = await rows.evaluateAll((all) => all.map((row) => row.getAttribute("aria-label") ?? ""));
  return names.flatMap((name) => /^(.+), \d+ results?$/.exec(name)?.[1] ?? []);
}

const IN_FOLDER = /^starlette\/middleware\//;
const ELSEWHERE = expect.not.stringMatching(IN_FOLDER);

/** The line above the results. */
function message(window: Window): Locator {
  return window.page.locator(".part.sidebar .message").first();
}

function copied(window: Window): Promise<string> {
  return window.page.evaluate(() => navigator.clipboard.readText());
}

/** Returns the line number at the start of the row; a click opens the file there. */
async function lineOf(hit: Locator): Promise<number> {
  return Number(/^\s*(\d+)/.exec((await hit.locator(".label-name").first().textContent()) ?? "")?.[1]);
}

test("kept results stand by file with the words highlighted, and a click opens the line", async ({ window }) => {
  await window.keep(QUESTION);
  await expect(window.items.first()).toHaveAccessibleName(/\.py, \d+ results?$/);
  await expect(hits(window).first().locator(".highlight").first()).toBeVisible();
  const name = (await hits(window).first().getAttribute("aria-label")) ?? "";
  await window.picture("results");
  await window.select(hits(window).first());
  await expect(window.page.locator(".tabs-container").getByRole("tab")).toHaveCount(1);
  expect(name).toMatch(/^\w+ .+, lines \d+ to \d+, score 0\.\d\d: /);
});

test("what is kept has the keyboard, also where the view was hidden and held other results", async ({ window }) => {
  for (const query of ["class that serves static files", "parse the cookies of a request", QUESTION]) {
    await window.keep(query);
    await window.command("View: Show Explorer");
    await expect(window.page.locator(".explorer-folders-view")).toBeVisible();
  }
});

test("why a hit was found unfolds to its reasons", async ({ window }) => {
  await window.keep(QUESTION);
  await window.select(hits(window).first());
  await window.cursorIsAt(await lineOf(hits(window).first()));
  await window.command("Sidecar: Why This Hit");
  const why = window.items.filter({ hasText: "Why this hit" });
  await expect(why).toBeVisible();
  for (const part of ["Its text contains the query's words", "It is close in meaning to the query"])
    await expect(window.items.filter({ hasText: part }).first()).toBeVisible();
});

test("results are narrowed down to a folder and back", async ({ window }) => {
  await window.keep(QUESTION);
  await expect.poll(() => files(window)).toContainEqual(ELSEWHERE);
  await window.chooseFrom("Sidecar: Filter Results by Folder", "starlette/middleware");
  await expect(message(window)).toContainText(/\d+ of \d+ results: starlette\/middleware\//);
  await expect.poll(() => files(window)).not.toContainEqual(ELSEWHERE);
  expect(await files(window)).toContainEqual(expect.stringMatching(IN_FOLDER));
  await window.picture("results-of-a-folder");
  await window.command("Sidecar: Clear Filter");
  await expect.poll(() => files(window)).toContainEqual(ELSEWHERE);
  await expect(message(window)).not.toContainText("starlette/middleware/");
});

test("results are narrowed down to a language, and what is copied then is what is shown", async ({ window }) => {
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  writeFileSync(join(window.editor.folder, "compress.js"), SCRIPT);
  // A file that is not yet indexed can only be found by its name.
  await window.searchSays("compressResponseBody", "compress.js:");
  await window.keep(QUESTION);
  await expect.poll(() => files(window)).toContainEqual(ELSEWHERE);
  await expect(async () => {
    await window.openList("Sidecar: Filter Results by Language");
    await expect(window.rows.filter({ hasText: "python" })).toContainText(/\d+ results?/, { timeout: 4000 });
    await window.choose("javascript");
  }).toPass();
  await expect(message(window)).toContainText(/1 of \d+ results: javascript/);
  await expect(hits(window)).toHaveCount(1);
  await window.picture("results-of-a-language");
  await window.command("Sidecar: Copy Results as Markdown");
  await window.statusBarSaid("1 result copied as Markdown");
  await expect.poll(() => copied(window)).toMatch(/### compress\.js:1-\d+ /);

  await window.chooseFrom("Sidecar: Filter Results by Folder", "starlette/middleware");
  await expect(message(window)).toContainText(/0 of \d+ results: javascript, starlette\/middleware\//);
  await window.command("Sidecar: Clear Filter");
  await expect.poll(() => files(window)).toContainEqual(ELSEWHERE);
  rmSync(join(window.editor.folder, "compress.js"));
});

test("results are copied as Markdown", async ({ window }) => {
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await window.keep(QUESTION);
  await window.command("Sidecar: Copy Results as Markdown");
  await expect.poll(() => copied(window)).toContain(`## “${QUESTION}”, words and meaning: 30 results`);
  await window.statusBarSaid("30 results copied as Markdown");
  expect(await copied(window)).toMatch(/### starlette\/.+\.py:\d+-\d+ \(score 0\.\d\d\)\n\n```python\n/);
});

test("what is kept before the answer is there is the answer to what was typed", async ({ window }) => {
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await window.search(QUESTION);
  await window.editor.whileHeld(async () => {
    await window.typesOn(" gzip");
    await window.page.keyboard.press("Alt+K");
    await expect(window.input).toHaveValue(`${QUESTION} gzip`);
  });
  await expect(window.input).toBeHidden();
  await window.command("Sidecar: Copy Results as Markdown");
  await expect.poll(() => copied(window)).toContain(`## “${QUESTION} gzip”, words and meaning: 30 results`);
});

test("a hit whose file has gone says in plain words what to do, from the view and from the palette", async ({
  window,
}) => {
  const file = join(window.editor.folder, "herons.js");
  const search = async () => {
    writeFileSync(file, SCRIPT.replaceAll("compressResponseBody", "countTheHerons"));
    await window.searchSays("countTheHerons", "herons.js:");
  };
  const gone = /"herons\.js" is no longer there\. It was deleted, moved or renamed after this search: search again\.$/;
  await search();
  rmSync(file);
  await window.choose("herons.js:");
  await window.notice(gone);
  await window.tidy();
  await search();
  await window.page.keyboard.press("Alt+K");
  // Until it is filled, the view shows what it held before.
  await expect(window.items.first()).toHaveAccessibleName(/^herons\.js, \d+ results?$/);
  await expect(hits(window).first()).toBeVisible();
  rmSync(file);
  await hits(window).first().click();
  await window.notice(gone);
  await expect(window.notices.filter({ hasText: /CodeExpectedError|Unable to|ENOENT/ })).toHaveCount(0);
});

test("the history shows a search as it was typed", async ({ window }) => {
  await window.search("body[*] ** $(zap)");
  await window.page.keyboard.press("Escape");
  const header = window.page.locator(".part.sidebar").getByRole("button", { name: "History Section" });
  const past = window.page
    .locator(".part.sidebar")
    .getByRole("treeitem", { name: /^"body\[\*\] \*\* \$\u200b?\(zap\)"/ });
  await window.openView();
  await expect(async () => {
    if ((await header.getAttribute("aria-expanded")) === "false") await header.click();
    await expect(past).toBeVisible({ timeout: 4000 });
  }).toPass();
});

test("the history runs a search again", async ({ window }) => {
  await window.keep(QUESTION);
  await window.command("Sidecar: Clear Results");
  const past = window.page.locator(".part.sidebar").getByRole("treeitem", { name: new RegExp(QUESTION) });
  const header = window.page.locator(".part.sidebar").getByRole("button", { name: "History Section" });
  await expect(async () => {
    if ((await header.getAttribute("aria-expanded")) === "false") await header.click();
    await past.first().click({ timeout: 4000 });
    await expect(hits(window).first()).toBeVisible({ timeout: 20_000 });
  }).toPass();
  await window.picture("history");
});
