// While a folder of 6,000 files is indexed: one item tells how far it is, and leads to what ends it.
import { expect, test, type Window } from "./test";

test.use({
  editorOptions: {
    files: 6000,
    indexed: false,
    machine: { "sidecar.model": "minilm-code-int8", "sidecar.twoStage": false },
  },
});
test.describe.configure({ timeout: 400_000 });

const LONG_MS = 200_000;

function item(window: Window) {
  return window.page.locator(".statusbar-item[id*='sidecar.status']");
}

test("one item tells the progress, and Cancel ends it without an error", async ({ window }) => {
  await window.command("Sidecar: Create Index");
  await window.statusBarSaid(/Indexing \d+ %/, LONG_MS);
  expect((await window.statusBarTexts()).filter((text) => /create index/i.test(text))).toEqual([]);
  await expect(window.page.locator(".statusbar-item", { hasText: /ndex/ })).toHaveCount(1);
  await window.search("approve an order");
  await expect(window.prompt).toContainText(/of 6,\d+ files so far, code first/);
  await expect(window.row(0)).toContainText(/\w+\.py:\d+/);
  await window.page.keyboard.press("Escape");
  // The item is drawn anew with each percent: a click may meet one that is just replaced.
  await expect(async () => {
    await item(window).click();
    await expect(window.webview().getByRole("link", { name: "Cancel" })).toBeVisible({ timeout: 3_000 });
  }).toPass();
  await window.picture("indexing-cancel");
  await window.page.keyboard.press("Escape");
  await window.command("Sidecar: Cancel Indexing");
  await expect(item(window)).toContainText(/Partial \d{1,2} %/, { timeout: LONG_MS });
  await expect(window.webview().getByRole("link", { name: "Cancel" })).toHaveCount(0);
  await expect(window.notices).toHaveCount(0);
});
