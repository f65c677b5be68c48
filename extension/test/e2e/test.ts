// The `test` of every end-to-end test. `window` is one page that the tests of a worker share, tidied between them; tests
// that need another editor call `test.use({ editorOptions: {...} })` at the top of their file.
import { test as base, expect } from "@playwright/test";
import { startEditor, type Editor, type EditorOptions } from "./editor";
import { Window } from "./window";

interface OfWorker {
  editorOptions: Partial<EditorOptions>;
  editor: Editor;
  shared: Window;
}

export const test = base.extend<{ window: Window }, OfWorker>({
  editorOptions: [{}, { scope: "worker", option: true }],
  editor: [
    async ({ editorOptions }, use) => {
      const editor = await startEditor(editorOptions);
      await use(editor);
      await editor.stop();
    },
    { scope: "worker", timeout: 600_000 },
  ],
  shared: [
    async ({ browser, editor, editorOptions }, use) => {
      const page = await browser.newPage({ viewport: { width: 1280, height: 850 } });
      const window = new Window(page, editor);
      await window.open((editorOptions.trusted ?? true) && editorOptions.program !== "carried");
      await use(window);
      await page.close();
    },
    { scope: "worker", timeout: 600_000 },
  ],
  window: async ({ shared }, use, info) => {
    await use(shared);
    if (info.status === info.expectedStatus) await shared.tidy();
    else {
      await info.attach("screen", { body: await shared.page.screenshot(), contentType: "image/png" });
      await info.attach("log", { body: shared.editor.log(), contentType: "text/plain" });
    }
  },
});

export { expect };
export { Window } from "./window";
export { startEditor } from "./editor";
