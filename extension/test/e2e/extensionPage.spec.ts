// The page on which the editor describes the extension.
import { expect, test } from "./test";

test("the page of a build that is published nowhere has the short name and no broken picture", async ({ window }) => {
  await window.command("Extensions: Show Installed Extensions");
  const row = window.page.locator(".extensions-viewlet .extension-list-item").filter({ hasText: "Sidecar" }).first();
  await row.click();
  await expect(window.tab("Extension: Sidecar")).toBeVisible();
  await expect(window.webview().getByRole("heading", { name: "First steps" })).toBeVisible();
  await expect(window.webview().getByRole("img")).toHaveCount(0);
});
