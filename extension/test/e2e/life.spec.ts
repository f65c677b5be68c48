// The sidecar's life in the editor.
import { existsSync } from "node:fs";
import { expect, test } from "./test";

function isRunning(id: number): boolean {
  return existsSync(`/proc/${id}`);
}

test("the extension starts the sidecar of the setting in a folder that is open", async ({ window }) => {
  await expect.poll(() => window.editor.processes("--stdio")).toHaveLength(1);
});

test("Doctor tells what the editor knows and what the sidecar finds, as one text", async ({ window }) => {
  await window.command("Sidecar: Doctor");
  await expect(window.tab("Sidecar Doctor")).toBeVisible();
  const text = window.page.locator(".editor-instance");
  for (const line of ["extension", "state", "vector store", "sqlite"]) await expect(text).toContainText(line);
  await window.picture("doctor");
});

test("the walkthrough leads from an index to agents, with a picture of each step", async ({ window }) => {
  // A narrow editor leaves the pictures out.
  await window.command("View: Close Primary Side Bar");
  await window.chooseFrom("Welcome: Open Walkthrough", "Search code by asking for it");
  const page = window.page.locator(".gettingStartedContainer");
  for (const step of ["Index this folder", "Ask in words", "Start from code", "Let your agents search"]) {
    await page.getByRole("button", { name: step }).click();
    const image = page.locator(".getting-started-media img:visible").first();
    await expect.poll(() => image.evaluate((shown: HTMLImageElement) => shown.naturalWidth)).toBeGreaterThan(0);
  }
  await window.picture("walkthrough");
});

test("Open Config opens the index's settings", async ({ window }) => {
  await window.command("Sidecar: Open Config");
  await expect(window.tab("config.json")).toHaveAttribute("aria-selected", "true");
  await expect(window.page.locator(".editor-instance")).toContainText("maxFileSize");
});

test("a killed sidecar comes back by itself; killed again within a minute it is told, and Restart brings it back", async ({
  window,
}) => {
  const started = window.timesStarted();
  const kill = () => window.editor.kill("--stdio");
  kill();
  await window.sidecarRuns(started + 1);
  await expect(window.notices).toHaveCount(0);
  kill();
  await window.notice("Sidecar has ended unexpectedly, again within a minute.", ["Show Log"]);
  await window.picture("killed");
  await window.answer("Sidecar has ended unexpectedly", "Restart");
  await window.sidecarRuns(started + 2);
  await window.command("Sidecar: Open Config");
  await expect(window.tab("config.json")).toBeVisible();
});

test("when the shared process dies, the window goes on by itself", async ({ window }) => {
  const started = window.timesStarted();
  const former = window.editor.processes("daemon run");
  expect(former).not.toEqual([]);
  window.editor.kill("daemon run");
  // A call that is under way when the process dies fails if it may already have been carried out.
  await expect.poll(() => window.editor.processes("daemon run").filter((id) => !former.includes(id))).toHaveLength(1);
  await window.command("Sidecar: Open Config");
  await expect(window.tab("config.json")).toBeVisible();
  await expect(window.notices).toHaveCount(0);
  expect(window.timesStarted()).toBe(started);
});

test("Restart begins everything anew, also what windows share", async ({ window }) => {
  const started = window.timesStarted();
  // The agents' processes, which the editor itself has started, are left alone: they attach again.
  const running = () => ["--stdio", "daemon run"].flatMap((part) => window.editor.processes(part));
  await expect.poll(running).toHaveLength(2);
  const former = running();
  await window.command("Sidecar: Restart");
  await window.sidecarRuns(started + 1);
  await expect.poll(() => former.filter(isRunning)).toEqual([]);
});
