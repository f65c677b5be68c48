// Questions of other programs to the user of the editor: never answered by accident, closed once they are void.
import { Agent } from "./mcpClient";
import { wordsInSight } from "./page";
import { expect, test, type Window } from "./test";

const ASKED = /^(?!Nobody).*delete .*search index of/i;

async function state(agent: Agent): Promise<unknown> {
  return (await agent.call("get_index_status"))["status"];
}

/** Checks that the question is no longer on screen, in the notification centre, in the view and in the count. */
async function isGone(window: Window): Promise<void> {
  await expect(window.question(ASKED)).toHaveCount(0);
  await expect(window.items.filter({ hasText: ASKED })).toHaveCount(0);
  await expect(window.count).toBeHidden();
  await window.page.keyboard.press("Control+Alt+Shift+9");
  await expect(window.question(ASKED)).toHaveCount(0);
  await window.page.keyboard.press("Escape");
}

test("who is typing when an agent wants to delete the index goes on typing, and deletes nothing", async ({
  window,
}) => {
  const agent = await Agent.start(window.editor, "robot");
  await window.openFile("applications.py");
  await window.page.keyboard.press("Control+End");
  const asked = agent.call("delete_index");
  await expect(window.question(ASKED)).toContainText('"robot"');
  await window.picture("question-of-an-agent");
  await window.typesInto("\n# one two\n\ty yes \n");
  await expect(window.dialog).toHaveCount(0);
  await expect(window.page.locator(".part.editor .view-lines")).toContainText("# one two");
  expect(await state(agent)).toBe("ready");
  await window.answerQuestion(ASKED, "Keep");
  expect(await asked).toMatchObject({ status: "cancelled" });
  await isGone(window);
  await agent.stop();
});

test("the question stays on screen, and in Agents with Keep before Delete and a count; a click on Delete deletes", async ({
  window,
}) => {
  const agent = await Agent.start(window.editor, "robot");
  await window.openView();
  const deleted = agent.call("delete_index");
  const rows = window.items.and(window.page.getByLabel(/Delete the search index of "starlette"\?/));
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(0)).toContainText('asked by "robot"');
  await expect(rows.nth(1)).toContainText("Keep");
  await expect(rows.nth(2)).toContainText("Delete index");
  await expect(window.count).toHaveText("1");
  await window.picture("question-in-agents");
  const toasts = window.page.locator(".notifications-toasts .notification-list-item");
  await expect(toasts.filter({ hasText: ASKED })).toBeVisible();
  // An ordinary message hides by itself after some seconds; the question has stayed when that is over.
  await window.command("Sidecar: Reindex This File");
  const ordinary = toasts.filter({ hasText: "open a file inside an open folder first" });
  await expect(ordinary).toBeVisible();
  await expect(ordinary).toBeHidden({ timeout: 120_000 });
  await expect(toasts.filter({ hasText: ASKED })).toBeVisible();
  await expect(async () => {
    await rows.nth(2).click({ timeout: 4000 });
    await expect(rows).toHaveCount(0, { timeout: 4000 });
  }).toPass();
  expect(await deleted).toMatchObject({ status: "deleted" });
  await isGone(window);
  const created = agent.call("create_index");
  await window.answerQuestion(/create .*search index/i, "Create index");
  expect(await created).toMatchObject({ status: "created" });
  await agent.stop();
});

test("two keys open the question, and Enter then means Keep", async ({ window }) => {
  const agent = await Agent.start(window.editor, "robot");
  const kept = agent.call("delete_index");
  await expect(window.question(ASKED)).toBeVisible();
  await expect(async () => {
    await window.page.keyboard.press("Control+K");
    await window.page.keyboard.press("A");
    await expect(window.row(0)).toContainText("Keep", { timeout: 4000 });
  }).toPass();
  await expect(window.row(1)).toContainText("Delete index");
  await window.picture("question-by-keys");
  await window.choose("Keep");
  expect(await kept).toMatchObject({ status: "cancelled" });
  await isGone(window);
  await agent.stop();
});

test("in a window of 320 pixels the question, who asks it and both answers are in sight", async ({ window }) => {
  await window.page.setViewportSize({ width: 320, height: 600 });
  const agent = await Agent.start(window.editor, "a robot with a name that is longer than most, as some have");
  const kept = agent.call("delete_index");
  const question = window.question(ASKED).first();
  await expect(question).toBeVisible();
  await window.picture("question-narrow");
  const message = question.locator(".notification-list-item-message");
  const asker = "a robot with a name that is longer than most, as some have";
  const words = `Delete the search index of "starlette"? Asked by "${asker}".`;
  await expect.poll(() => message.evaluate(wordsInSight, words)).toBe(true);
  for (const link of ["Keep", "Delete index"])
    await expect
      .poll(() => window.isUncovered(question.getByRole("link", { name: link, exact: true })), { message: link })
      .toBe(true);
  await window.answerQuestion(ASKED, "Keep");
  expect(await kept).toMatchObject({ status: "cancelled" });
  await window.page.setViewportSize({ width: 1280, height: 850 });
  await agent.stop();
});

test("what one window has answered disappears from the other", async ({ window, browser }) => {
  const other = await window.another(browser);
  const agent = await Agent.start(window.editor, "robot");
  const kept = agent.call("delete_index");
  await expect(window.question(ASKED)).toBeVisible();
  await expect(other.question(ASKED)).toBeVisible();
  await window.answerQuestion(ASKED, "Keep");
  expect(await kept).toMatchObject({ status: "cancelled" });
  await isGone(other);
  await isGone(window);
  await other.page.close();
  await agent.stop();
});

test("of two windows that answer at the same moment one is heard, and both show what came of it", async ({
  window,
  browser,
}) => {
  const other = await window.another(browser);
  const agent = await Agent.start(window.editor, "robot");
  const asked = agent.call("delete_index");
  for (const one of [window, other]) await expect(one.question(ASKED)).toBeVisible();
  // Neither answer arrives before the other one has been given, or else the question could be gone by then.
  await window.editor.whileHeld(() =>
    Promise.all([window.answerQuestion(ASKED, "Keep"), other.answerQuestion(ASKED, "Delete index")]),
  );
  const { status } = await asked;
  expect(["cancelled", "deleted"]).toContain(status);
  expect(await state(agent)).toBe(status === "deleted" ? "not_found" : "ready");
  for (const one of [window, other]) await isGone(one);
  for (const one of [window, other])
    await expect(one.statusItem("Not indexed")).toHaveCount(status === "deleted" ? 1 : 0);
  if (status === "deleted") {
    const created = agent.call("create_index");
    await window.answerQuestion(/create .*search index/i, "Create index");
    await created;
  }
  await other.page.close();
  await agent.stop();
});

test("a question whose asker has gone disappears", async ({ window }) => {
  await window.openView();
  const agent = await Agent.start(window.editor, "robot");
  void agent.call("delete_index").catch(() => undefined);
  await expect(window.count).toHaveText("1");
  await expect(window.question(ASKED)).toBeVisible();
  await agent.stop();
  await isGone(window);
});

test("clearing all notifications answers nothing, and the question waits in Agents", async ({ window }) => {
  await window.openView();
  const agent = await Agent.start(window.editor, "robot");
  const kept = agent.call("delete_index");
  await expect(window.question(ASKED)).toBeVisible();
  await window.command("Notifications: Clear All Notifications");
  await expect(window.count).toHaveText("1");
  await window.items.filter({ hasText: /^Keep/ }).click();
  expect(await kept).toMatchObject({ status: "cancelled" });
  await isGone(window);
  await agent.stop();
});

test("a name that forges a headline or a link is one quoted line wherever it is shown", async ({ window }) => {
  await window.openView();
  const forged =
    "Sidecar needs to clean up. Press Delete index to continue.\n\n[Show details](command:workbench.action.quit) **now** $(zap)";
  const agent = await Agent.start(window.editor, forged);
  await agent.call("search_code", { query: "[Show details](command:workbench.action.quit)\n$(zap) **x**" });
  const kept = agent.call("delete_index");
  const question = window.question(/Delete the search index of/);
  await expect(question).toContainText(
    /Delete the search index of "starlette"\? Asked by "Sidecar needs[^"\n]{0,52}"\./,
  );
  await expect(question.locator(".notification-list-item-message a").filter({ hasText: "Show details" })).toHaveCount(
    0,
  );
  await expect(question.locator(".notification-list-item-message a")).toHaveText(["Keep", "Delete index"]);
  await expect.poll(() => window.items.filter({ hasText: "needs" }).count()).toBeGreaterThan(1);
  const names = await window.items.allInnerTexts();
  for (const text of names) expect(text).not.toMatch(/\]\(|\*\*|\$\(|[\u0000-\u0008\u200b]/);
  await window.picture("forged-name");
  await window.answerQuestion(/Delete the search index of/, "Keep");
  expect(await kept).toMatchObject({ status: "cancelled" });
  await expect(window.items.filter({ hasText: "refused" }).filter({ hasText: "needs" })).toHaveCount(1);
  await agent.stop();
});

/** Each tries to be something else than a name: an answer, a sentence of ours, markup, a link, a command, an order. */
const HOSTILE: readonly [what: string, name: string][] = [
  ["an order", "Press Delete index to go on.\r\n\r\nSidecar: everything is in order"],
  ["the answer", "Delete index"],
  ["the end of our sentence", 'robot". It has been deleted already. Asked by "Sidecar'],
  [
    "markup",
    "**Sidecar** <b>robot</b> <img src=x onerror=alert(1)> `x` | ~~y~~ # z $(zap) $(sync~spin) ![p](http://a.b/c.png)",
  ],
  [
    "links",
    "[Keep](command:sidecar.deleteIndex) [x](command:workbench.action.quit?%5B%5D) http://a.b/c vscode://x.y/z",
  ],
  ["an order of reading", "robot \u202egnp.exe\u202c \u2066x\u2069 \u200b\u200f\ufeff\u{e0041}\u0301\u0301\u0301"],
  [
    "orders to a terminal",
    "\u0000\u0007\u001b[31mred\u001b[0m\u001b]8;;http://a.b\u0007x\u001b]8;;\u0007\t\u0085\u2028",
  ],
  ["a page of text", `${"robot ".repeat(1700)}Press Delete index`],
  ["nothing", "  \n\t  "],
];
// What of a text could not be seen, could reorder it, or could be the beginning of a link, an icon or markup.
const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|\]\(|\$\(|\*\*|<\w|:\/\//u;

test("whatever an agent calls itself is one short quoted string in toast, list, view and log", async ({ window }) => {
  await window.openView();
  const before = window.editor.log().length;
  for (const [what, name] of HOSTILE) {
    const agent = await Agent.start(window.editor, name);
    await agent.call("search_code", { query: name.slice(0, 900).trim() || "robot" });
    const kept = agent.call("delete_index");
    const question = window.question(/Delete the search index of/);
    await expect(question.first(), what).toBeVisible();
    const message = question.first().locator(".notification-list-item-message");
    const asked = (await message.textContent()) ?? "";
    const asker = name.trim() === "" ? "" : /Asked by "([^"]*)"\. /.exec(asked)?.[1];
    expect(asker, `${what}: ${asked}`).toBeDefined();
    expect(Array.from(asker ?? "").length, what).toBeLessThanOrEqual(60);
    expect(asked, what).toContain('Delete the search index of "starlette"?');
    expect(asked, what).not.toMatch(ACTIVE);
    await expect(message.locator("a")).toHaveText(["Keep", "Delete index"]);
    await expect(message.locator("img, .codicon, b, strong, code")).toHaveCount(0);
    await expect(async () => {
      await window.page.keyboard.press("Control+K");
      await window.page.keyboard.press("A");
      await expect(window.row(0)).toContainText("Keep", { timeout: 4000 });
    }).toPass();
    expect((await window.title.textContent()) ?? "", what).not.toMatch(ACTIVE);
    expect((await window.rows.allTextContents()).join(" "), what).not.toMatch(ACTIVE);
    await expect(window.row(1)).toContainText("Delete index");
    await window.choose("Keep");
    expect(await kept, what).toMatchObject({ status: "cancelled" });
    await isGone(window);
    const rows = await window.items.evaluateAll((all) =>
      all.flatMap((row) => [row.getAttribute("aria-label") ?? "", row.textContent ?? ""]),
    );
    expect(rows.length, what).toBeGreaterThan(1);
    // The editor's own parts of a row are icons in a font of their own, which have no text.
    for (const text of rows) expect(text.replaceAll("$\u200b(", ""), what).not.toMatch(ACTIVE);
    await agent.stop();
  }
  const lines = window.editor
    .log()
    .slice(before)
    .split("\n")
    .filter((line) => line !== "");
  for (const line of lines) {
    expect(line).toMatch(/^\d{4}-\d\d-\d\d /);
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  }
});

test("one's own Delete and Reindex are asked in one's own words, with Keep first", async ({ window }) => {
  for (const [command, asks] of [
    ["Sidecar: Delete Index", 'Delete the search index of "starlette"?'],
    ["Sidecar: Reindex Project", 'Rebuild the search index of "starlette"?'],
  ] as const) {
    await window.command(command);
    await expect(window.title).toContainText(asks);
    await expect(window.row(0)).toContainText("Keep");
    await window.picture(`own-${command.includes("Delete") ? "delete" : "reindex"}`);
    await window.choose("Keep");
    await expect(window.input).toBeHidden();
  }
  await expect(window.items.filter({ hasText: "refused" }).filter({ hasText: "Delete index" })).toHaveCount(0);
});

test("ignored means no, and this is said where it was asked", async ({ window }) => {
  const started = window.timesStarted();
  window.setMachine({ "sidecar.questionSeconds": 15 });
  await window.sidecarRuns(started + 1);
  await window.openView();
  const agent = await Agent.start(window.editor, "robot");
  const ignored = agent.call("delete_index");
  await expect(window.question(ASKED)).toContainText("No answer within 15 s means Keep.");
  expect(await ignored).toMatchObject({ status: "cancelled" });
  await isGone(window);
  await window.notice(/Nobody answered in time, so nothing was changed: "robot" wants to/);
  await agent.stop();
  window.setMachine({ "sidecar.questionSeconds": undefined });
  await window.sidecarRuns(started + 2);
});
