// What the status bar says while a big file can be found by word and has no vectors yet. The model is the slow one, so
// that this state lasts long enough. There is one big file, because 2,000 files would take minutes before the test begins.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";
import { sourceOf } from "./workspace";

const INDEXING_MS = 200_000;

test.use({
  editorOptions: {
    content: "h11",
    files: 0,
    indexed: false,
    machine: { "sidecar.model": "minilm-code-int8", "sidecar.twoStage": false },
  },
});

function item(window: Window) {
  return window.page.locator(".statusbar-item[id*='sidecar.status']");
}

async function isReady(window: Window): Promise<void> {
  const button = item(window).getByRole("button");
  await expect(button).toHaveAccessibleName(/The index is up to date/, { timeout: INDEXING_MS });
}

test("a big new file makes it partial until all of the file has its vectors", async ({ window }) => {
  await window.command("Sidecar: Create Index");
  await isReady(window);
  await window.forgetStatusBar();
  writeFileSync(join(window.editor.folder, "everything.py"), sourceOf("uvicorn"));
  await window.statusBarSaid(/Partial \d+ %/, INDEXING_MS);
  await window.editor.whileHeld(async () => {
    await expect(item(window)).toContainText(/Partial \d+ %/);
    const hover = await window.hover(item(window), "searches may miss something");
    await expect(hover.getByRole("link", { name: "Show Index Status" })).toBeVisible();
    await window.picture("partial");
  });
  await isReady(window);
  await expect(item(window)).not.toContainText("Partial");
});
