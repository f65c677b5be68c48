// Our keys beside those of the editor, as it lists them itself.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";
import { CHECKOUT } from "./places";

interface Binding {
  key: string;
  command: string;
  when?: string;
}

async function defaults(window: Window): Promise<Binding[]> {
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await window.command("Preferences: Open Default Keyboard Shortcuts (JSON)");
  const editor = window.page.locator(".part.editor .monaco-editor").first();
  await expect(editor.locator(".view-lines")).toContainText("Override key bindings");
  let text = "";
  await expect(async () => {
    await editor.locator(".view-lines").click();
    await window.page.keyboard.press("Control+A");
    await window.page.keyboard.press("Control+C");
    text = await window.page.evaluate(() => navigator.clipboard.readText());
    expect(text).toContain("list.find");
  }).toPass();
  return JSON.parse(text.replace(/^\s*\/\/.*$/gm, "")) as Binding[];
}

test("no key of ours is one that the editor uses", async ({ window }) => {
  const found = await defaults(window);
  writeFileSync("/tmp/love-keys.json", JSON.stringify(found, null, 1));
});
