// Together with other people's extensions: a language whose symbols come late, an agent that invokes our tools, a chat.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";

const QUESTION = "compress the response body";

test.use({ editorOptions: { probe: true, machine: { "sidecar.similarCodeLens": true } } });

interface Told {
  text?: string;
  error?: string;
}

/** Returns what our language model tools answer to an agent that is another extension. */
async function told(window: Window, asked: { tool: string; input: object }[]): Promise<Told[]> {
  const { root } = window.editor;
  writeFileSync(join(root, "told.json"), "");
  writeFileSync(join(root, "asked.json"), JSON.stringify(asked));
  await window.command("Probe: Invoke Tools");
  const answer = () => readFileSync(join(root, "told.json"), "utf8");
  await expect.poll(answer).not.toBe("");
  return JSON.parse(answer()) as Told[];
}

test("the lens comes when the language's extension has told its symbols, however late", async ({ window }) => {
  const lines = ["def compress(body)", "  gzip body", "def expand(body)", "  gunzip body", ""];
  writeFileSync(join(window.editor.folder, "late.probe"), lines.join("\n"));
  await window.openFile("late.probe");
  const lens = window.page.locator(".codelens-decoration").getByText("Similar code");
  await expect(lens).toHaveCount(0);
  await expect(lens).toHaveCount(2);
});

test("an agent of the editor's searches code by our tools", async ({ window }) => {
  const [found, narrowed, similar, wrong] = await told(window, [
    { tool: "sidecar_searchCode", input: { query: QUESTION } },
    { tool: "sidecar_searchCode", input: { query: QUESTION, paths: ["starlette/middleware/**"] } },
    { tool: "sidecar_findSimilar", input: { path: "starlette/middleware/gzip.py", line: 20 } },
    { tool: "sidecar_findSimilar", input: { path: "starlette/no_such_file.py", line: 1 } },
  ]);
  expect(found?.text).toMatch(/starlette\/middleware\/gzip\.py:\d+/);
  expect(narrowed?.text).toContain("starlette/middleware/");
  expect(narrowed?.text).not.toContain("starlette/applications.py");
  expect(similar?.text).toMatch(/starlette\/\w+/);
  expect(wrong?.error).toContain('File not found. "starlette/no_such_file.py" is not in the index');
});

test("@sidecar lists the code it finds, with links, in the editor's chat", async ({ window }) => {
  await window.command("Chat: Open Chat");
  const chat = window.page.locator(".interactive-session");
  const input = chat
    .locator(".interactive-input-editor .native-edit-context, .interactive-input-editor textarea")
    .first();
  await expect(input).toBeAttached();
  await input.focus();
  await window.page.keyboard.type(`@sidecar ${QUESTION}`);
  await window.page.keyboard.press("Escape");
  await window.page.keyboard.press("Enter");
  await expect(chat.locator(".interactive-response").last()).toContainText("gzip.py");
  await window.picture("chat");
});
