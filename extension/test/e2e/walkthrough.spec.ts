// Takes the pictures of the walkthrough. Each shows only what its step is about, so that its text can be read, in a dark
// and in a light theme.
import type { Locator } from "@playwright/test";
import { expect, test, type Window } from "./test";

const THEMES = { dark: "Dark Modern", light: "Light Modern" };

function palette(window: Window): Locator {
  return window.page.locator(".quick-input-widget");
}

for (const [look, theme] of Object.entries(THEMES))
  test(`each step of the walkthrough has a picture that can be read on ${look}`, async ({ window }) => {
    await window.theme(theme);
    await window.command("Sidecar: Show Index Status");
    await expect(window.webview().getByText("ready", { exact: true })).toBeVisible();
    const page = window.webview();
    await window.pictureFromTo(`step-index-${look}`, page.locator("header"), page.getByLabel("Summary"));
    await window.search("compress the response body");
    await window.picture(`step-ask-${look}`, palette(window));
    await window.page.keyboard.press("Escape");
    await window.openFile("starlette/middleware/gzip.py");
    await window.goToLine(10);
    await window.openList("Sidecar: Find Similar Code");
    await window.answered();
    await window.picture(`step-similar-${look}`, palette(window));
    await window.page.keyboard.press("Escape");
    await window.openList("Sidecar: Connect an Agent…");
    await expect(window.rows.filter({ hasText: "Claude Code" }).first()).toBeVisible();
    await window.picture(`step-agents-${look}`, palette(window));
    await window.page.keyboard.press("Escape");
    await expect(async () => {
      await window.page.keyboard.press("Escape");
      await window.page.keyboard.press("F1");
      await window.input.fill(">Sidecar: Doctor", { timeout: 5000 });
      await expect(window.row(0)).toContainText("Sidecar: Doctor", { timeout: 5000 });
    }).toPass();
    await window.picture(`step-help-${look}`, palette(window));
    await window.theme(THEMES.dark);
  });
