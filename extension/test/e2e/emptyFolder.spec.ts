// A folder without anything to search.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "./test";
import { indexWorkspace } from "./workspace";

test.use({ editorOptions: { content: "", indexed: false } });

test("an empty folder is offered no index, and one with a file in it is", async ({ window }) => {
  await expect(window.statusItem("Not indexed")).toBeVisible();
  await window.command("Notifications: Show Notifications");
  await expect(window.page.locator(".notifications-center")).toContainText(/no (new )?notifications/i);
  writeFileSync(join(window.editor.folder, "heron.py"), "def count():\n    return 3\n");
  await window.page.reload();
  await window.notice("to search it by meaning");
});

test("an offer that is older than an index made in a shell says that there is one, and makes nothing", async ({
  window,
}) => {
  const { editor } = window;
  writeFileSync(join(editor.folder, "heron.py"), "def count():\n    return 3\n");
  await window.page.reload();
  await window.notice("to search it by meaning");
  indexWorkspace(editor.program, editor.folder, editor.env);
  await expect(window.statusItem("Not indexed")).toHaveCount(0);
  await window.answer("to search it by meaning", "Create Index");
  await window.notice(/is indexed already: 1 file\./, ["Show Index Status"]);
});
