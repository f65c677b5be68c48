// While a folder of 6,000 files is indexed, one item shows the progress and leads to the command that stops it. A stopped
// run stays stopped.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";

test.use({
  editorOptions: {
    files: 6000,
    indexed: false,
    machine: { "sidecar.model": "minilm-code-int8", "sidecar.twoStage": false },
  },
});

const LONG_MS = 200_000;
const PARTIAL = /Partial \d{1,2} %/;

function item(window: Window) {
  return window.page.locator(".statusbar-item[id*='sidecar.status']");
}

/** Workflows and translations, which have the question's words and stand before the code in the alphabet. */
function addWhatIsNoCode(window: Window): void {
  for (const folder of [".github/workflows", "locales"]) {
    mkdirSync(join(window.editor.folder, folder), { recursive: true });
    for (let number = 0; number < 100; number++)
      writeFileSync(join(window.editor.folder, folder, `order_${number}.yml`), `approve:\n  an: order ${number}\n`);
  }
}

test("one item tells percent and time left, the page the same, and Cancel ends it without an error", async ({
  window,
}) => {
  addWhatIsNoCode(window);
  await window.command("Sidecar: Create Index");
  await window.statusBarSaid(/Indexing \d+ %, \d+ (s|min) left/, LONG_MS);
  expect((await window.statusBarTexts()).filter((text) => /create index/i.test(text))).toEqual([]);
  await expect(window.page.locator(".statusbar-item", { hasText: /ndex/ })).toHaveCount(1);
  await window.search("approve an order");
  await expect(window.prompt).toContainText(/of 6,\d+ files, code first/);
  await expect(window.row(0)).toContainText(/\w+\.py:\d+/);
  await expect(window.rows.filter({ hasText: /\.ya?ml/ })).toHaveCount(0);
  for (const part of [".label-name", ".label-description"])
    expect(await window.isUncovered(window.row(0).locator(part).first())).toBe(true);
  await window.page.keyboard.press("Escape");
  // Indexing is held, so that even a fast machine is not done before the test has looked and clicked.
  await window.editor.whileHeld(async () => {
    await expect(item(window)).toContainText(/Indexing \d+ %, \d+ (s|min) left/);
    await item(window).click();
    await expect(window.webview().getByRole("link", { name: "Cancel" })).toBeVisible();
    const told = /Indexing: [\d,]+ of 6,\d+ files, \d+ %, about \d+ (s|min) left/;
    await expect(window.webview().getByText(told)).toBeVisible();
    const bar = window.webview().getByRole("progressbar", { name: "Indexing" });
    await expect(bar).toHaveAttribute("aria-valuenow", /^\d+$/);
    await expect(bar).toHaveAttribute("aria-valuetext", told);
    await window.picture("indexing");
    await window.command("Sidecar: Cancel Indexing");
  });
  await expect(item(window)).toContainText(PARTIAL, { timeout: LONG_MS });
  await expect(window.webview().getByRole("link", { name: "Cancel" })).toHaveCount(0);
  await expect(window.notices).toHaveCount(0);

  await window.forgetStatusBar();
  const files = window.webview().locator(".card", { hasText: "Files" }).locator(".value");
  const before = await files.textContent();
  await window.search("approve an order");
  await expect(window.prompt).toContainText("Indexing was cancelled");
  await window.page.keyboard.press("Escape");
  await expect(item(window)).toContainText(PARTIAL);
  await expect(files).toHaveText(before ?? "");
  expect((await window.statusBarTexts()).filter((text) => text.includes("Indexing"))).toEqual([]);

  await window.webview().getByRole("link", { name: "Continue Indexing" }).click();
  await window.statusBarSaid(/Indexing \d+ %/, LONG_MS);
  await window.editor.whileHeld(async () => {
    await expect(window.webview().getByRole("link", { name: "Cancel" })).toBeVisible();
    await window.command("Sidecar: Cancel Indexing");
  });
  await expect(item(window)).toContainText(PARTIAL, { timeout: LONG_MS });
});
