// Several folders in one window.
import { expect, test } from "./test";

test.use({ editorOptions: { second: "uvicorn" } });

test("each folder has its MCP server, one search covers them all", async ({ window }) => {
  expect(window.editor.processes("--stdio")).toHaveLength(1);
  await window.openList("MCP: List Servers");
  for (const name of ["starlette", "uvicorn"])
    await expect(window.rows.filter({ hasText: `Sidecar (${name})` })).toBeVisible();
  await window.page.keyboard.press("Escape");

  await window.search("send a message over a websocket");
  await expect(window.rows.filter({ hasText: "uvicorn" }).first()).toBeVisible();
  await expect(window.rows.filter({ hasText: "starlette" }).first()).toBeVisible();
  await window.picture("folders");
});
