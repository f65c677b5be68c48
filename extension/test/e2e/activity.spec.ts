// The activity view: what agents searched for, what they got, and what they were refused.
import { Agent } from "./mcpClient";
import { expect, test } from "./test";

test("what an agent searches, gets and is refused is shown as it happens", async ({ window }) => {
  await window.openView();
  const agent = await Agent.start(window.editor, "robot");
  await agent.call("search_code", { query: "compress the response body" });
  const rows = window.items;
  const searched = rows.filter({ hasText: "compress the response body" }).filter({ hasText: "robot" });
  await expect(searched).toHaveAccessibleName(/"robot", Search code, done, \d+ results/);
  const refused = agent.call("delete_index");
  const call = rows.and(window.page.getByLabel(/^Delete index, "robot"/));
  await expect(call).toContainText("waits for your answer");
  await window.answerQuestion("Delete the search index of", "Keep");
  await refused;
  await expect(call).toContainText("refused");
  await expect(async () => {
    await window.select(searched);
    await window.page.keyboard.press("ArrowRight");
    await expect(rows.filter({ hasText: ".py" }).first()).toBeVisible({ timeout: 4000 });
  }).toPass();
  await window.picture("activity");
  await agent.stop();
});
