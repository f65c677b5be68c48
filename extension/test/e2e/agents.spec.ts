// What agents get from the extension.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent } from "./mcpClient";
import { expect, test } from "./test";

test("the editor's own agents have the MCP server with no set-up, and it starts", async ({ window }) => {
  const row = window.rows.filter({ hasText: /Stopped|Running/ }).filter({ hasText: "Sidecar" });
  await window.command("MCP: List Servers");
  await expect(row).toContainText("Stopped");
  await window.picture("mcp-server");
  await row.click();
  await window.rows.filter({ hasText: "Start Server" }).click();
  await expect(async () => {
    await window.command("MCP: List Servers");
    await expect(row).toContainText("Running", { timeout: 4000 });
  }).toPass({ timeout: 60_000 });
});

test("Connect an Agent shows the change, writes it when told to, and keeps what is there", async ({ window }) => {
  const file = join(window.editor.folder, ".mcp.json");
  writeFileSync(file, '{\n  "mcpServers": {\n    "other": { "command": "x" }\n  }\n}\n');
  await window.command("Sidecar: Connect an Agent…");
  await window.rows.filter({ hasText: "Claude Code" }).click();
  await expect(window.page.locator(".monaco-diff-editor")).toContainText("sidecar");
  await expect(window.dialog).toContainText("everything else in it stays");
  await window.picture("connect-agent");
  expect(readFileSync(file, "utf8")).not.toContain("sidecar");
  await window.button(window.dialog, "Write It").click();
  await expect(window.toast("Claude Code is connected.")).toBeVisible();
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    mcpServers: { other: { command: "x" }, sidecar: { command: window.editor.program, args: ["mcp"] } },
  });
});

test("a file that the entry does not fit into is left alone, and the text to paste is offered", async ({ window }) => {
  const file = join(window.editor.folder, ".gemini/settings.json");
  expect(existsSync(file)).toBe(false);
  await window.command("Sidecar: Connect an Agent…");
  await window.rows.filter({ hasText: "Gemini CLI" }).click();
  await window.button(window.dialog, "Write It").click();
  await expect(window.toast("Gemini CLI is connected.")).toBeVisible();
  writeFileSync(file, "{ not json");
  await window.command("Sidecar: Connect an Agent…");
  await window.rows.filter({ hasText: "Gemini CLI" }).click();
  const toast = window.toast("was not changed: The file is not valid JSON.");
  await expect(window.button(toast, "Copy Entry")).toBeVisible();
  expect(readFileSync(file, "utf8")).toBe("{ not json");
  for (const name of [".gemini", ".mcp.json"]) rmSync(join(window.editor.folder, name), { recursive: true });
});

test("an agent's question is asked in the editor and names the agent: Escape keeps the index, Delete deletes it", async ({
  window,
}) => {
  const agent = await Agent.start(window.editor, "robot");
  const refused = agent.call("delete_index");
  await expect(window.dialog).toContainText("robot");
  await window.picture("question-of-an-agent");
  await window.page.keyboard.press("Escape");
  expect(await refused).toMatchObject({ status: "cancelled" });

  const deleted = agent.call("delete_index");
  await window.button(window.dialog, "Delete index").click();
  expect(await deleted).toMatchObject({ status: "deleted" });

  // And the index is there again for the tests to come.
  const created = agent.call("create_index");
  const toast = window.toast("robot");
  await expect(toast).toBeVisible();
  await window.picture("question-to-create");
  await toast
    .getByRole("button", { name: /create/i })
    .first()
    .click();
  expect(await created).toMatchObject({ status: "created" });
  await agent.stop();
});
