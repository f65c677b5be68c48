// Our key bindings next to the editor's own, as the editor lists them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT } from "./places";
import { expect, test, type Window } from "./test";

interface Binding {
  key: string;
  command: string;
  when?: string;
}

/** Keys with the same meaning in the editor's own lists: open to the side. */
const SAME = ["quickInput.accept", "openReferenceToSide"];
/** The context keys that say where the focus has to be or what has to be on screen. */
const PLACE =
  /\b\w*(Focus|Focused|Visible|IsShown)\b|\bin[A-Z]\w*|\b(focusedView|view|activeEditor|scmRepository|chatAttachmentResource|terminal\w+)\b|\b(is|has)[A-Z]\w*/;

async function defaults(window: Window): Promise<Binding[]> {
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await window.command("Preferences: Open Default Keyboard Shortcuts (JSON)");
  const lines = window.page.locator(".part.editor .monaco-editor .view-lines").first();
  await expect(lines).toContainText("Override key bindings");
  let text = "";
  await expect(async () => {
    await lines.click();
    await window.page.keyboard.press("Control+A");
    await window.page.keyboard.press("Control+C");
    text = await window.page.evaluate(() => navigator.clipboard.readText());
    expect(text).toContain("list.find");
  }).toPass();
  return JSON.parse(text.replace(/^\s*\/\/.*$/gm, "")) as Binding[];
}

/** Whether the editor could run its own command where ours is meant. */
function clash(ours: Binding, theirs: Binding): boolean {
  if (theirs.key !== ours.key || theirs.command.startsWith("sidecar.") || SAME.includes(theirs.command)) return false;
  const when = theirs.when ?? "";
  if (ours.when?.includes("inQuickOpen")) return !PLACE.test(when) || /inQuick/.test(when);
  if (ours.when?.includes("listFocus")) return !PLACE.test(when) || /^listFocus( &&|$)/.test(when);
  return true;
}

test("no key of ours is one that the editor uses where ours is meant", async ({ window }) => {
  const theirs = await defaults(window);
  expect(theirs.length).toBeGreaterThan(500);
  const manifest = JSON.parse(readFileSync(join(CHECKOUT, "extension/package.json"), "utf8")) as {
    contributes: { keybindings: Binding[] };
  };
  for (const ours of manifest.contributes.keybindings)
    expect(
      theirs.filter((one) => clash(ours, one)).map(({ command }) => command),
      `${ours.key} of ${ours.command}`,
    ).toEqual([]);
  const taken = { key: "ctrl+alt+f", command: "ours", when: "workbenchState != empty" };
  expect(theirs.filter((one) => clash(taken, one)).map(({ command }) => command)).toContain("list.find");
});
