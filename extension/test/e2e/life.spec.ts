// The sidecar's life in the editor.
import { expect, test } from "./test";

test("the extension starts the sidecar of the setting in a folder that is open", async ({ window }) => {
  expect(window.editor.processes("--stdio")).toHaveLength(1);
});

test("Doctor tells what the editor knows and what the sidecar finds, as one text", async ({ window }) => {
  await window.command("Sidecar: Doctor");
  await expect(window.tab("Sidecar Doctor")).toBeVisible();
  const text = window.page.locator(".editor-instance");
  for (const line of ["extension", "state", "vector store", "sqlite"]) await expect(text).toContainText(line);
  await window.picture("doctor");
});

test("Open Config opens the index's settings", async ({ window }) => {
  await window.command("Sidecar: Open Config");
  await expect(window.tab("config.json")).toHaveAttribute("aria-selected", "true");
  await expect(window.page.locator(".editor-instance")).toContainText("maxFileSize");
});

test("a killed sidecar is told, and Restart brings it back", async ({ window }) => {
  const started = window.timesStarted();
  const [former] = window.editor.processes("--stdio");
  process.kill(former!, "SIGKILL");
  const toast = window.toast("Sidecar has ended unexpectedly.");
  await expect(toast).toBeVisible();
  await expect(window.button(toast, "Show Log")).toBeVisible();
  await window.picture("killed");
  await window.button(toast, "Restart").click();
  await window.sidecarRuns(started + 1);
  await window.command("Sidecar: Open Config");
  await expect(window.tab("config.json")).toBeVisible();
});

test("when the shared process dies, the window goes on by itself", async ({ window }) => {
  const started = window.timesStarted();
  const [former] = window.editor.processes("daemon run");
  process.kill(former!, "SIGKILL");
  await window.command("Sidecar: Open Config");
  await expect(window.tab("config.json")).toBeVisible();
  await expect(window.toasts).toHaveCount(0);
  expect(window.timesStarted()).toBe(started);
  expect(window.editor.processes("daemon run")[0]).not.toBe(former);
});

test("Restart begins everything anew, also what windows share", async ({ window }) => {
  const started = window.timesStarted();
  const former = window.editor.processes("sidecar");
  await window.command("Sidecar: Restart");
  await window.sidecarRuns(started + 1);
  await expect.poll(() => window.editor.processes("sidecar").filter((id) => former.includes(id))).toEqual([]);
});
