import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { UIKind } from "vscode";
import { keyName, keyboardIsElsewhere } from "../../src/keys";

interface Keybinding {
  command: string;
  key: string;
  mac?: string;
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { contributes: { keybindings: Keybinding[] } };

test("keys are named as the platform's keyboard names them", () => {
  expect(keyName("Ctrl+Enter", "darwin", false)).toBe("Cmd+Enter");
  expect(keyName("Alt+K", "darwin", false)).toBe("Ctrl+Cmd+K");
  expect(keyName("Ctrl+Enter", "linux", false)).toBe("Ctrl+Enter");
});

test("where the keyboard may be another machine's, keys are named for both, whatever this machine is", () => {
  for (const platform of ["linux", "darwin", "win32"] as const) {
    expect(keyName("Ctrl+Enter", platform, true)).toBe("Ctrl+Enter, on macOS Cmd+Enter");
    expect(keyName("Alt+K", platform, true)).toBe("Alt+K, on macOS Ctrl+Cmd+K");
  }
});

test("the keyboard may be elsewhere in a browser and on a remote machine, but not on the desktop and in WSL", () => {
  const { Desktop, Web } = UIKind;
  expect(keyboardIsElsewhere({ remoteName: undefined, uiKind: Desktop })).toBe(false);
  expect(keyboardIsElsewhere({ remoteName: "wsl", uiKind: Desktop })).toBe(false);
  expect(keyboardIsElsewhere({ remoteName: "ssh-remote", uiKind: Desktop })).toBe(true);
  expect(keyboardIsElsewhere({ remoteName: "dev-container", uiKind: Desktop })).toBe(true);
  expect(keyboardIsElsewhere({ remoteName: undefined, uiKind: Web })).toBe(true);
});

test("every key with Ctrl has one for macOS", () => {
  for (const { key, mac, command } of manifest.contributes.keybindings)
    if (key.includes("ctrl")) expect(mac, command).toMatch(/cmd/);
});

test("no key of ours types a character on macOS, as Option and a letter does", () => {
  for (const { key, mac = key, command } of manifest.contributes.keybindings)
    if (mac.includes("alt")) expect(mac, command).toMatch(/ctrl|cmd/);
});

test("no text of the sources names a key but through keyName, and a text of the manifest names it for macOS too", () => {
  for (const name of readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
    (one) => one.endsWith(".ts") && one !== "keys.ts",
  )) {
    const lines = readFileSync(join("src", name), "utf8").split("\n");
    for (const line of lines.filter((one) => !/^\s*(\/\/|\*|\/\*)/.test(one)))
      if (/["`'(][^"`']*\b(Ctrl|Cmd|Alt)\+/.test(line)) expect(line, name).toContain("keyName(");
  }
  const texts = JSON.stringify(manifest).match(/"[^"]*\b(?:Ctrl|Cmd|Alt|Option)\+[^"]*"/g) ?? [];
  for (const text of texts) expect(text).toMatch(/macOS/);
});
