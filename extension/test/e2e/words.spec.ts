// The search palette while the configured model cannot be loaded: it answers by word, and says so.
import { execFileSync } from "node:child_process";
import { expect, test } from "./test";

test.use({ editorOptions: { files: 2000, machine: { "sidecar.model": "no-such-model" } } });

const QUESTION = "compress the response body";

test("without the model, words answer in every way of searching, and the notice covers no row", async ({ window }) => {
  await window.search(QUESTION);
  const ways = ["words and meaning", "words only", "meaning only"];
  for (const way of ways) {
    await expect(window.title).toContainText(`Search Code: ${way}`);
    await expect(window.row(0)).toContainText(/\w+\.py:\d+/);
    if (way === "words only") await expect(window.prompt).toBeHidden();
    else await expect(window.prompt).toContainText("Searched by word only");
    expect(await window.isUncovered(window.row(0).locator(".label-name").first())).toBe(true);
    expect(await window.isUncovered(window.row(0).locator(".label-description").first())).toBe(true);
    await window.picture(`without-model-${way.replaceAll(" ", "-")}`);
    await window.page.keyboard.press("Alt+M");
  }
});

test("without the model, symbols and documents are found by their words", async ({ window }) => {
  await window.search("gzip responder", "Sidecar: Go to Symbol by Meaning");
  await expect(window.row(0)).toContainText("gzip.py");
  await expect(window.prompt).toContainText("Searched by word only");
  await window.search("installed", "Sidecar: Search Docs");
  await expect(window.row(0)).toContainText("README.md");
});

test("without the model, item, page and shell say that only words are found, and none says ready", async ({
  window,
}) => {
  await window.search(QUESTION);
  await window.page.keyboard.press("Escape");
  const item = window.page.locator(".statusbar-item[id*='sidecar.status']");
  await expect(item).toContainText("Words only");
  await window.hover(item, "Searches find words only");
  await item.click();
  const page = window.webview();
  await expect(page.getByText("words only", { exact: true })).toBeVisible();
  await expect(page.getByText("ready", { exact: true })).toHaveCount(0);
  await expect(page.getByText("no-such-model").first()).toBeVisible();
  const { program, folder, env } = window.editor;
  const told = execFileSync(program, ["status"], {
    cwd: folder,
    env: { ...env, SIDECAR_MODEL: "no-such-model" },
    encoding: "utf8",
  });
  expect(told).toMatch(/status\s+incomplete: searches find words only, not meaning/);
  expect(told).toContain("no-such-model");
  await window.picture("words-only");
});
