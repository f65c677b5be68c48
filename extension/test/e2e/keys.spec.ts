// Our key bindings next to the editor's own on each platform, as the editor lists them. In a browser it takes the platform
// from what the browser says of itself.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT } from "./places";
import { expect, test, Window } from "./test";

interface Binding {
  key: string;
  command: string;
  when?: string;
}

type Ours = Binding & Partial<Record<"linux" | "mac" | "win", string>>;

interface Platform {
  name: "linux" | "mac" | "win";
  /** The key with which this platform selects all. */
  control: string;
  agent: string;
  /** A key of the editor's that only this platform has, and its command. */
  own: Binding;
}

const MODIFIERS = ["ctrl", "shift", "alt", "meta", "cmd", "win"];
const PLATFORMS: readonly Platform[] = [
  {
    name: "linux",
    control: "Control",
    agent: "X11; Linux x86_64",
    own: { key: "ctrl+shift+i", command: "editor.action.formatDocument" },
  },
  {
    name: "mac",
    control: "Meta",
    agent: "Macintosh; Intel Mac OS X 10_15_7",
    own: { key: "shift+alt+f", command: "editor.action.formatDocument" },
  },
  {
    name: "win",
    control: "Control",
    agent: "Windows NT 10.0; Win64; x64",
    own: { key: "shift+alt+f", command: "editor.action.formatDocument" },
  },
];

/** Keys with the same meaning in the editor's own lists: open to the side. */
const SAME = ["quickInput.accept", "openReferenceToSide"];
/** The context keys that say where the focus has to be or what has to be on screen. */
const PLACE =
  /\b\w*(Focus|Focused|Visible|IsShown)\b|\bin[A-Z]\w*|\b(focusedView|view|activeEditor|scmRepository|chatAttachmentResource|terminal\w+)\b|\b(is|has)[A-Z]\w*/;

async function defaults(window: Window, control: string): Promise<Binding[]> {
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await window.command("Preferences: Open Default Keyboard Shortcuts (JSON)");
  const lines = window.page.locator(".part.editor .monaco-editor .view-lines").first();
  await expect(lines).toContainText("Override key bindings");
  // All pages of a browser have one clipboard.
  await window.page.evaluate(() => navigator.clipboard.writeText(""));
  let text = "";
  await expect(async () => {
    await lines.click();
    await window.page.keyboard.press(`${control}+A`);
    // In a browser it is the browser that copies, by the key of the machine that it runs on.
    await window.page.keyboard.press("Control+C");
    text = await window.page.evaluate(() => navigator.clipboard.readText());
    expect(text).toContain("list.find");
  }).toPass();
  return JSON.parse(text.replace(/^\s*\/\/.*$/gm, "")) as Binding[];
}

/** A key with its modifiers in one order: the editor lists `shift+alt+s` for what a manifest may write as `alt+shift+s`. */
function ordered(key: string): string {
  const chord = (one: string) => {
    const parts = one.split("+");
    const held = MODIFIERS.filter((modifier) => parts.includes(modifier));
    return [...held, ...parts.filter((part) => !MODIFIERS.includes(part))].join("+");
  };
  return key.split(" ").map(chord).join(" ");
}

/** Whether the editor could run its own command where ours is meant. */
function clash(ours: Binding, theirs: Binding): boolean {
  if (
    ordered(theirs.key) !== ordered(ours.key) ||
    theirs.command.startsWith("sidecar.") ||
    SAME.includes(theirs.command)
  )
    return false;
  const when = theirs.when ?? "";
  if (ours.when?.includes("inQuickOpen")) return !PLACE.test(when) || /inQuick/.test(when);
  if (ours.when?.includes("listFocus")) return !PLACE.test(when) || /^listFocus( &&|$)/.test(when);
  return true;
}

for (const { name, control, agent, own } of PLATFORMS)
  test(`no key of ours is one that the editor uses where ours is meant: ${name}`, async ({ editor, browser }) => {
    const page = await browser.newPage({ userAgent: `Mozilla/5.0 (${agent}) AppleWebKit/537.36 Chrome/150.0.0.0` });
    const window = new Window(page, editor);
    await window.open(false);
    const theirs = await defaults(window, control);
    expect(theirs.length).toBeGreaterThan(500);
    expect(theirs.filter(({ command }) => command === own.command).map(({ key }) => key)).toEqual([own.key]);
    const manifest = JSON.parse(readFileSync(join(CHECKOUT, "extension/package.json"), "utf8")) as {
      contributes: { keybindings: Ours[] };
    };
    for (const ours of manifest.contributes.keybindings) {
      const key = ours[name] ?? ours.key;
      expect(
        theirs.filter((one) => clash({ ...ours, key }, one)).map(({ command }) => command),
        `${key} of ${ours.command}`,
      ).toEqual([]);
    }
    const taken = {
      key: name === "mac" ? "cmd+alt+f" : "ctrl+alt+f",
      command: "ours",
      when: "workbenchState != empty",
    };
    expect(theirs.filter((one) => clash(taken, one)).map(({ command }) => command)).toContain("list.find");
    await page.close();
  });
