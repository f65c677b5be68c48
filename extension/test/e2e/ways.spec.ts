// Ways to and from a hit in a folder of 2,000 files: peek, similar code, results as an editor, the reasons.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
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

test("Alt+P shows a hit as a peek in the file that somebody is in, from the palette and from the view", async ({
  window,
}) => {
  const peek = window.page.locator(".peekview-widget");
  await window.openFile("starlette/config.py");
  await window.search(QUESTION);
  const { file } = await window.placeOf(0);
  await window.page.keyboard.press("Alt+P");
  await expect(peek).toContainText(file);
  await expect(window.input).toBeHidden();
  await expect(window.tab("config.py")).toHaveAttribute("aria-selected", "true");
  await expect(window.page.locator(".tabs-container").getByRole("tab")).toHaveCount(1);
  await window.picture("peek");
  await window.page.keyboard.press("Escape");
  await expect(peek).toHaveCount(0);

  await window.keep(QUESTION);
  await window.page.keyboard.press("Alt+P");
  await expect(peek).toBeVisible();
  await expect(window.tab("config.py")).toHaveAttribute("aria-selected", "true");
});

test("similar code is a code action for somebody who asks, and no bulb stands beside lines", async ({ window }) => {
  await window.openFile("starlette/middleware/gzip.py");
  await window.goToLine(20);
  const action = window.page.getByRole("option", { name: "Find Similar Code with Sidecar" });
  await expect(async () => {
    await window.page.keyboard.press("Escape");
    await window.page.keyboard.press("Control+.");
    await expect(action).toBeVisible({ timeout: 5000 });
  }).toPass({ timeout: 90_000 });
  await window.picture("code-action");
  await action.click();
  await expect(window.title).toContainText("Code Like gzip.py:20");
  await window.answered();
  await window.page.keyboard.press("Escape");
  await expect(
    window.page.locator(".codicon-light-bulb, .codicon-gutter-lightbulb").filter({ visible: true }),
  ).toHaveCount(0);
});

test("similar code is a lens above functions once somebody has asked for it", async ({ window }) => {
  writeFileSync(join(window.editor.folder, "compress.js"), SCRIPT);
  await window.searchSays("compressResponseBody", "compress.js:");
  await window.page.keyboard.press("Escape");
  await window.openFile("compress.js");
  const lens = window.page.locator(".codelens-decoration").getByText("Similar code");
  await expect(lens).toHaveCount(0);
  window.setMachine({ "sidecar.similarCodeLens": true });
  await expect(lens).toBeVisible({ timeout: 90_000 });
  await window.picture("lens");
  await lens.click();
  await expect(window.title).toContainText("Code Like compress.js:2–5");
  await window.answered();
  await window.page.keyboard.press("Escape");
  window.setMachine({ "sidecar.similarCodeLens": false });
  await expect(lens).toHaveCount(0, { timeout: 90_000 });
});

test("Alt+E opens the results as an editor, in which one finds, and from which one goes to a hit", async ({
  window,
}) => {
  await window.search(QUESTION);
  await window.page.keyboard.press("Alt+E");
  await expect(window.tab("Results for")).toHaveAttribute("aria-selected", "true");
  await expect(window.statusItem("Search Result")).toBeVisible();
  const lines = window.page.locator(".part.editor .view-lines").first();
  await expect(lines).toContainText(`“${QUESTION}”, words and meaning: 30 results`.replaceAll(" ", "\u00a0"));
  await window.picture("results-as-editor");
  await window.page.keyboard.press("Control+F");
  await window.page.locator(".find-widget.visible .find-part textarea").fill("apply_compression");
  const found = window.page.locator(".find-widget .matchesCount");
  await expect(found).toContainText(/\d+ of [1-9]/);
  await window.page.keyboard.press("Enter");
  await window.page.keyboard.press("Escape");
  await window.page.keyboard.press("F12");
  await expect(window.tab("gzip.py")).toHaveAttribute("aria-selected", "true");
});

test("why a hit was found is said in reasons whose shares sum to 100", async ({ window }) => {
  await window.keep(QUESTION);
  await window.select(hits(window).first());
  await window.command("Sidecar: Why This Hit");
  const why = window.items.filter({ hasText: "Why this hit" });
  await expect(why).toBeVisible();
  const reasons = window.items.and(window.page.getByLabel(/, \d+ %$/));
  await expect(reasons.first()).toBeVisible();
  const shares = async () =>
    (await reasons.evaluateAll((rows) => rows.map((row) => row.getAttribute("aria-label") ?? ""))).map((name) =>
      Number(/(\d+) %$/.exec(name)?.[1]),
    );
  await expect.poll(async () => (await shares()).reduce((sum, share) => sum + share, 0)).toBe(100);
  await expect(window.items.filter({ hasText: "Rank of the file" })).toHaveCount(0);
  await expect(window.items.filter({ hasText: "Its text contains the query's words" })).toBeVisible();
  await window.picture("why-this-hit");
});
