// The first start: the private environment is made from the wheel that the extension carries.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "./test";

test.describe.configure({ mode: "serial" });
test.use({
  editorOptions: {
    program: "carried",
    indexed: false,
    machine: { "sidecar.python": "/not/there/python3" },
    // An index that refuses connections, and nothing beside it: a machine without network.
    env: {
      PIP_CONFIG_FILE: "/dev/null",
      PIP_INDEX_URL: "http://127.0.0.1:9/simple",
      PIP_FIND_LINKS: "",
      PIP_RETRIES: "0",
    },
  },
});

test("a Python that is not there is told, with a way on", async ({ window }) => {
  const toast = window.toast('"/not/there/python3" (setting sidecar.python) does not run.');
  await expect(toast).toBeVisible();
  await window.picture("setup-no-python");
  for (const name of ["Get Python", "Open Settings", "Try Again"])
    await expect(window.button(toast, name)).toBeVisible();
});

test("without network the first start says so", async ({ window }) => {
  window.setMachine({ "sidecar.python": "" });
  const toast = window.toast("Python's package index could not be reached.");
  await expect(toast).toBeVisible({ timeout: 60_000 });
  await window.picture("setup-no-network");
  await expect(window.button(toast, "Try Again")).toBeVisible();
});

test.describe("with an index that answers", () => {
  // Only what differs from the worker's editor may be here: the same options but for pip's.
  test.use({ editorOptions: { program: "carried", indexed: false } });

  test("the environment is made once, with progress; the next window has it at once", async ({ window }) => {
    test.setTimeout(300_000);
    await expect(window.toast("Sidecar set-up")).toBeVisible();
    await window.picture("setup-progress");
    await window.sidecarRuns(1, 280_000);
    const storage = join(window.editor.root, "data/User/globalStorage/sidecar-search.sidecar");
    expect(readdirSync(join(storage, "environments"))).toHaveLength(1);
    const installed = window.editor.log().split("Successfully installed").length;
    await window.page.reload();
    await window.sidecarRuns(2);
    expect(window.editor.log().split("Successfully installed").length).toBe(installed);
    await expect(window.toast("Sidecar set-up")).toHaveCount(0);
  });
});
