// A folder that the person has not said to trust.
import { expect, test } from "./test";

test.use({ editorOptions: { trusted: false, indexed: false } });

test("in a folder that is not trusted nothing is started, and trusting it starts the sidecar", async ({ window }) => {
  await expect(window.statusItem("Restricted Mode")).toBeVisible();
  await expect.poll(() => window.editor.log()).toContain("not trusted");
  expect(window.editor.processes("--stdio")).toEqual([]);
  await window.picture("restricted-mode");
  await window.statusItem("Restricted Mode").click();
  await window.page
    .locator(".workspace-trust-editor")
    .getByRole("button", { name: "Trust", exact: true })
    .first()
    .click();
  await window.sidecarRuns();
  expect(window.editor.processes("--stdio")).toHaveLength(1);
});
