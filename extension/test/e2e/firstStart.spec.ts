// The first start: the extension makes its private environment from the wheel inside it.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";

const INSTALL_MS = 560_000;
const FETCHING = "-m pip install";
test.use({ editorOptions: { program: "carried", indexed: false } });

function environments(window: Window): string {
  return join(window.editor.root, "data/User/globalStorage/sidecar-search.sidecar/environments");
}

const QUESTION = "Sidecar needs a Python environment of its own";

test("nothing is fetched before somebody has seen what, how much and where to, and agreed", async ({ window }) => {
  await window.notice(QUESTION, ["Set Up", "Not Now"]);
  const asked = window.notices.filter({ hasText: QUESTION });
  await expect(asked).toContainText(/about \d+ MB from Python's package index .* puts \d+ MB into .*environments/);
  await window.picture("setup-question");
  expect(existsSync(environments(window))).toBe(false);
  // Whoever asks for it in the palette sees it at once, although the first question may hide in the bell, and may say no.
  for (const attempt of [1, 2]) {
    await window.searchSays("retry", "Sidecar is not set up yet");
    await expect(window.row(0)).toContainText("Press Enter: Restart.");
    await window.page.keyboard.press("Enter");
    await expect(window.dialog, `attempt ${attempt}`).toContainText(QUESTION, { timeout: 60_000 });
    await expect(window.dialog).toContainText(/about \d+ MB .* puts \d+ MB into .*environments/);
    if (attempt === 1) await window.picture("setup-dialog");
    await window.button(window.dialog, "Cancel").click();
    await expect(window.dialog).toHaveCount(0);
  }
  expect(existsSync(environments(window))).toBe(false);
});

test("cancelling is no error, a search meanwhile says what is going on, and it can be begun again", async ({
  window,
}) => {
  test.setTimeout(INSTALL_MS);
  await window.command("Sidecar: Restart");
  await window.answer(QUESTION, "Set Up");
  await expect.poll(() => window.editor.processes(FETCHING), { timeout: INSTALL_MS }).not.toEqual([]);
  await window.editor.whileHeld(async () => {
    await window.notice(/Fetching.*\d+ of \d+ MB/);
    await window.picture("setup-progress");
    await window.searchSays("retry", "Sidecar is being set up");
    await window.answer("Sidecar set-up", "Cancel");
  }, FETCHING);
  await expect.poll(() => window.editor.log(), { timeout: INSTALL_MS }).toContain("stopped: The set-up was cancelled.");
  await expect(window.notices.filter({ hasText: "cancelled" })).toHaveCount(0);
  await expect(window.statusItem("Sidecar")).not.toHaveClass(/error/);
});

test("the environment is made once; the next window has it at once, and Remove Everything takes it away", async ({
  window,
}) => {
  test.setTimeout(INSTALL_MS + 480_000);
  await window.command("Sidecar: Restart");
  await window.answer(QUESTION, "Set Up");
  await window.sidecarRuns(1, INSTALL_MS);
  expect(readdirSync(environments(window))).toHaveLength(1);
  expect(window.editor.processes(environments(window))).not.toHaveLength(0);

  const installed = () => window.editor.log().split("Successfully installed").length - 1;
  expect(installed()).toBe(1);
  await window.page.reload();
  await window.sidecarRuns(2);
  expect(installed()).toBe(1);
  await expect(window.notices.filter({ hasText: "Sidecar set-up" })).toHaveCount(0);

  await window.command("Sidecar: Remove Everything…");
  await expect(window.dialog).toContainText("These go: the private Python environment");
  await window.button(window.dialog, "Remove Everything").click();
  await expect(window.dialog).toContainText("These stay as well", { timeout: 120_000 });
  expect(existsSync(environments(window))).toBe(false);
  expect(existsSync(join(window.editor.root, "home/indexes"))).toBe(false);
  await expect.poll(() => window.editor.processes("daemon run")).toEqual([]);
  await window.button(window.dialog, "OK").click();
});
