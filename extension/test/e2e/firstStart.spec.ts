// The first start: the private environment is made from the wheel that the extension carries.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "./test";

const INSTALL_MS = 560_000;
test.use({ editorOptions: { program: "carried", indexed: false } });

test("the environment is made once, with progress; the next window has it at once", async ({ window }) => {
  test.setTimeout(INSTALL_MS + 240_000);
  await window.notice("Sidecar set-up");
  await window.picture("setup-progress");
  await window.sidecarRuns(1, INSTALL_MS);
  const storage = join(window.editor.root, "data/User/globalStorage/sidecar-search.sidecar");
  expect(readdirSync(join(storage, "environments"))).toHaveLength(1);
  const [program] = window.editor.processes(join(storage, "environments"));
  expect(program).toBeDefined();

  const installed = () => window.editor.log().split("Successfully installed").length - 1;
  expect(installed()).toBe(1);
  await window.page.reload();
  await window.sidecarRuns(2);
  expect(installed()).toBe(1);
  await expect(window.notices.filter({ hasText: "Sidecar set-up" })).toHaveCount(0);
});
