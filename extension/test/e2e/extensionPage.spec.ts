// The page that the editor shows of the extension.
import { expect, test } from "./test";

test.use({ editorOptions: { files: 2000 } });

test("the page shows every picture of the README, and the short name", async ({ window }) => {
  await window.command("Extensions: Show Installed Extensions");
  const row = window.page.locator(".extensions-viewlet .extension-list-item").filter({ hasText: "Sidecar" }).first();
  await row.click();
  await expect(window.tab("Extension: Sidecar")).toBeVisible();
  const pictures = window.webview().locator("img[src]");
  await expect.poll(() => pictures.count()).toBeGreaterThan(3);
  const broken = () =>
    pictures.evaluateAll((all) => all.filter((one) => (one as HTMLImageElement).naturalWidth === 0).length);
  await expect.poll(broken).toBe(0);
  await window.picture("page-of-the-extension");
});
