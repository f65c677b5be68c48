// What the extension offers to agents.
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent } from "./mcpClient";
import { expect, test } from "./test";

test("the editor's own agents have the MCP server with no set-up, and it starts", async ({ window }) => {
  const row = window.rows.filter({ hasText: /Stopped|Running/ }).filter({ hasText: "Sidecar" });
  await window.openList("MCP: List Servers");
  await expect(row).toContainText("Stopped");
  await window.picture("mcp-server");
  await window.choose("Sidecar");
  await window.choose("Start Server");
  await expect(async () => {
    await window.openList("MCP: List Servers");
    await expect(row).toContainText("Running", { timeout: 4000 });
  }).toPass({ timeout: 60_000 });
});

test("Connect an Agent shows the change, writes it when told to, and keeps what is there", async ({ window }) => {
  const file = join(window.editor.folder, ".mcp.json");
  writeFileSync(file, '{\n  "mcpServers": {\n    "other": { "command": "x" }\n  }\n}\n');
  await window.chooseFrom("Sidecar: Connect an Agent…", "Claude Code");
  await expect(window.page.locator(".monaco-diff-editor")).toContainText("sidecar");
  await expect(window.dialog).toContainText("everything else in it stays");
  await window.picture("connect-agent");
  expect(readFileSync(file, "utf8")).not.toContain("sidecar");
  await window.button(window.dialog, "Write It").click();
  await window.notice("Claude Code is connected.");
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    mcpServers: { other: { command: "x" }, sidecar: { command: window.editor.program, args: ["mcp"] } },
  });
});

test("what has been written can be taken back, the folder that was made for it too", async ({ window }) => {
  const folder = join(window.editor.folder, ".cursor");
  await window.chooseFrom("Sidecar: Connect an Agent…", "Cursor");
  await window.button(window.dialog, "Write It").click();
  await window.notice("Cursor is connected.", ["Undo"]);
  expect(existsSync(join(folder, "mcp.json"))).toBe(true);
  await window.answer("Cursor is connected.", "Undo");
  await window.notice("Cursor is not connected any more");
  expect(existsSync(folder)).toBe(false);
});

test("what others have put beside an entry since stays when it is taken back", async ({ window }) => {
  const folder = join(window.editor.folder, ".cursor");
  await window.chooseFrom("Sidecar: Connect an Agent…", "Cursor");
  await window.button(window.dialog, "Write It").click();
  await window.notice("Cursor is connected.", ["Undo"]);
  writeFileSync(join(folder, "theirs.json"), "{}");
  await window.answer("Cursor is connected.", "Undo");
  await window.notice("Cursor is not connected any more");
  expect(readdirSync(folder)).toEqual(["theirs.json"]);
  rmSync(folder, { recursive: true });
});

test("a file that the entry does not fit into is left alone, and the text to paste is offered", async ({ window }) => {
  const file = join(window.editor.folder, ".gemini/settings.json");
  expect(existsSync(file)).toBe(false);
  await window.chooseFrom("Sidecar: Connect an Agent…", "Gemini CLI");
  await window.button(window.dialog, "Write It").click();
  await window.notice("Gemini CLI is connected.");
  writeFileSync(file, "{ not json");
  await window.chooseFrom("Sidecar: Connect an Agent…", "Gemini CLI");
  await window.notice("was not changed: The file is not valid JSON.", ["Copy Entry"]);
  expect(readFileSync(file, "utf8")).toBe("{ not json");
  for (const name of [".gemini", ".mcp.json"]) rmSync(join(window.editor.folder, name), { recursive: true });
});

test("an agent's question is asked in the editor and names the agent: Keep keeps the index, Delete deletes it", async ({
  window,
}) => {
  const agent = await Agent.start(window.editor, "robot");
  const refused = agent.call("delete_index");
  await expect(window.question("Delete the search index of")).toContainText('Asked by "robot".');
  await window.answerQuestion("Delete the search index of", "Keep");
  expect(await refused).toMatchObject({ status: "cancelled" });

  const deleted = agent.call("delete_index");
  await window.answerQuestion("Delete the search index of", "Delete index");
  expect(await deleted).toMatchObject({ status: "deleted" });

  // Later tests need the index.
  const created = agent.call("create_index");
  await window.notice("robot");
  await window.picture("question-to-create");
  await window.answerQuestion("robot", "Create index");
  expect(await created).toMatchObject({ status: "created" });
  await agent.stop();
});
