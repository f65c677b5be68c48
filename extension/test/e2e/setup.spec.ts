// The first start where something is missing.
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
  const toast = window.toast('"/not/there/python3" (setting sidecar.python) cannot be run.');
  await expect(toast).toBeVisible();
  await window.picture("setup-no-python");
  for (const name of ["Get Python", "Open Settings", "Try Again"])
    await expect(window.button(toast, name)).toBeVisible();
});

test("without network the first start says so", async ({ window }) => {
  window.setMachine({ "sidecar.python": "" });
  const toast = window.toast("Python's package index could not be reached.");
  await expect(toast).toBeVisible({ timeout: 120_000 });
  await window.picture("setup-no-network");
  await expect(window.button(toast, "Try Again")).toBeVisible();
});

test("a program that is no sidecar is told once, with a way on", async ({ window }) => {
  window.setMachine({ "sidecar.path": "/bin/false" });
  const toast = window.toast("Sidecar could not be started.");
  for (const name of ["Restart", "Show Log"]) await expect(window.button(toast, name)).toBeVisible();
  await expect(window.toasts).toHaveCount(1);
  window.setMachine({ "sidecar.path": "/not/there/sidecar" });
  await expect(window.toast("/not/there/sidecar (setting sidecar.path) does not exist")).toBeVisible();
});
