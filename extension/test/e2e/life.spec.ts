import { expect, test } from "./test";

test("the extension starts the sidecar of the setting in a folder that is open", async ({ window }) => {
  expect(window.editor.processes("--stdio").length).toBeGreaterThan(0);
  await window.picture("started");
});
