// The first start when something is missing.
import { expect, test } from "./test";

test.use({
  editorOptions: {
    program: "carried",
    indexed: false,
    machine: { "sidecar.python": "/not/there/python3" },
    // The only package index refuses connections, as on a machine without a network.
    env: {
      PIP_CONFIG_FILE: "/dev/null",
      PIP_INDEX_URL: "http://127.0.0.1:9/simple",
      PIP_FIND_LINKS: "",
      PIP_RETRIES: "0",
    },
  },
});

test("a Python that is not there is told, with a way on", async ({ window }) => {
  const says = '"/not/there/python3" (setting sidecar.python) cannot be run.';
  await window.notice(says, ["Get Python", "Open Settings", "Try Again"]);
  await window.picture("setup-no-python");
});

test("without network the first start says so", async ({ window }) => {
  window.setMachine({ "sidecar.python": "" });
  await window.answer("Sidecar needs a Python environment of its own", "Set Up");
  await window.notice("Python's package index could not be reached.", ["Try Again"], 180_000);
  await window.picture("setup-no-network");
});

test("a program that is no sidecar is told once, with a way on", async ({ window }) => {
  window.setMachine({ "sidecar.path": "/bin/false" });
  await window.notice("Sidecar could not be started.", ["Restart", "Show Log"]);
  // A new window has also reported its Python.
  await expect(window.notices.filter({ hasNotText: "setting sidecar.python" })).toHaveCount(1);
  window.setMachine({ "sidecar.path": "/not/there/sidecar" });
  await window.notice("/not/there/sidecar (setting sidecar.path) does not exist");
});
