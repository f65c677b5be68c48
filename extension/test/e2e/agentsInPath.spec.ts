// The settings written for an agent when `sidecar` is in the shell's PATH.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "./test";

test.use({ editorOptions: { inPath: true } });

test("where sidecar is in the PATH, .mcp.json names no machine's path", async ({ window }) => {
  await window.chooseFrom("Sidecar: Connect an Agent…", "Claude Code");
  await expect(window.dialog).toContainText('"command": "sidecar"');
  await window.button(window.dialog, "Write It").click();
  await window.notice("Claude Code is connected.", ["Undo"]);
  expect(JSON.parse(readFileSync(join(window.editor.folder, ".mcp.json"), "utf8"))).toEqual({
    mcpServers: { sidecar: { command: "sidecar", args: ["mcp"] } },
  });
});
