// The extension is disabled and enabled again.
import { expect, test } from "./test";

test("disabled, nothing of it runs and the index stays; enabled again, it searches at once", async ({ window }) => {
  const started = window.timesStarted();
  await window.command("Extensions: Disable All Installed Extensions");
  await window.page.reload();
  await expect(window.page.locator(".statusbar-item").first()).toBeVisible();
  await expect.poll(() => window.editor.processes("--stdio")).toEqual([]);
  await expect(window.statusItem("Sidecar")).toHaveCount(0);
  await window.command("Extensions: Enable All Extensions");
  await window.sidecarRuns(started + 1);
  // The editor lists an extension's walkthrough only after its next start.
  await window.page.reload();
  await window.sidecarRuns(started + 2);
  await window.search("compress the response body");
  await expect(window.row(0)).toContainText(/\w+\.py:\d+/);
});
