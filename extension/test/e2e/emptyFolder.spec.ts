// A folder without anything to search.
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, type Window } from "./test";
import { indexWorkspace } from "./workspace";

test.use({ editorOptions: { content: "", indexed: false } });

const OFFER = "to search it by meaning";

test("an empty folder is offered no index, and one with a file in it is", async ({ window }) => {
  await expect(window.statusItem("Not indexed")).toBeVisible();
  await window.command("Notifications: Show Notifications");
  await expect(window.page.locator(".notifications-center")).toContainText(/no (new )?notifications/i);
  writeFileSync(join(window.editor.folder, "heron.py"), "def count():\n    return 3\n");
  await window.page.reload();
  await window.notice(OFFER);
});

test("what is never to be offered, and what Agents shows, is the same in another window on the folder", async ({
  window,
  browser,
}) => {
  writeFileSync(join(window.editor.folder, "heron.py"), "def count():\n    return 3\n");
  await window.page.reload();
  await window.answer(OFFER, "Never for This Folder");
  const other = await window.another(browser);
  await expect(other.statusItem("Not indexed")).toBeVisible();
  await other.command("Notifications: Show Notifications");
  await expect(other.page.locator(".notifications-center")).toContainText(/no (new )?notifications/i);
  await other.page.keyboard.press("Escape");

  const action = (one: Window, name: string) => one.page.locator(".part.sidebar").getByRole("button", { name }).first();
  const agents = (one: Window) => one.page.locator(".part.sidebar .pane-header", { hasText: "Agents" });
  for (const one of [window, other]) await one.openView();
  await expect(async () => {
    await agents(window).hover({ timeout: 4000 });
    await action(window, "Show Editors Too").click({ timeout: 4000 });
  }).toPass();
  await agents(other).hover();
  await expect(action(other, "Show Agents Only")).toBeVisible();
  await other.page.close();
  // For the tests that follow.
  const lasting = join(window.editor.root, "data/User/globalStorage/sidecar-search.sidecar/searches");
  for (const name of readdirSync(lasting).filter((one) => one.includes("choices"))) rmSync(join(lasting, name));
});

test("an offer that is older than an index made in a shell says that there is one, and makes nothing", async ({
  window,
}) => {
  const { editor } = window;
  writeFileSync(join(editor.folder, "heron.py"), "def count():\n    return 3\n");
  await window.page.reload();
  await window.notice(OFFER);
  indexWorkspace(editor.program, editor.folder, editor.env);
  const item = window.page.locator(".statusbar-item[id*='sidecar.status']").getByRole("button");
  await expect(item).toHaveAccessibleName(/Sidecar: The index is up to date/);
  await window.answer(OFFER, "Create Index");
  await window.notice(/is indexed already: 1 file\./, ["Show Index Status"]);
});
