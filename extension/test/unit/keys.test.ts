import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keyName } from "../../src/keys";

interface Keybinding {
  command: string;
  key: string;
  mac?: string;
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { contributes: { keybindings: Keybinding[] } };

test("keys are named as the platform's keyboard names them", () => {
  expect(keyName("Ctrl+Enter", "darwin")).toBe("Cmd+Enter");
  expect(keyName("Alt+K", "darwin")).toBe("Option+K");
  expect(keyName("Ctrl+Enter", "linux")).toBe("Ctrl+Enter");
});

test("every key with Ctrl has one for macOS", () => {
  for (const { key, mac, command } of manifest.contributes.keybindings)
    if (key.includes("ctrl")) expect(mac, command).toMatch(/cmd/);
});

test("no text of the sources names a key but through keyName, and a text of the manifest names it for macOS too", () => {
  for (const name of readdirSync("src", { recursive: true, encoding: "utf8" }).filter((one) => one.endsWith(".ts"))) {
    const lines = readFileSync(join("src", name), "utf8").split("\n");
    for (const line of lines.filter((one) => !/^\s*(\/\/|\*|\/\*)/.test(one)))
      if (/["`'(][^"`']*\b(Ctrl|Cmd|Alt)\+/.test(line)) expect(line, name).toContain("keyName(");
  }
  const texts = JSON.stringify(manifest).match(/"[^"]*\b(?:Ctrl|Cmd|Alt|Option)\+[^"]*"/g) ?? [];
  for (const text of texts) expect(text).toMatch(/macOS/);
});
