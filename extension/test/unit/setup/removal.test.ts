import { afterEach, expect, test } from "vitest";
import type { Features } from "../../../src/features";
import { removeEverything } from "../../../src/setup/removal";
import { window } from "../../mocks/vscode";

const STORAGE = "/home/someone/.config/Code/User/globalStorage/sidecar-search.sidecar";

/** What the dialog says below its question. */
async function dialog(): Promise<string> {
  await removeEverything({ extension: { globalStorageUri: { fsPath: STORAGE } } } as Features);
  return window.messages.at(-1)?.detail ?? "";
}

afterEach(() => window.messages.splice(0));

test("before everything is removed, the whole folder is named in which it is", async () => {
  expect(await dialog()).toContain(`the private Python environment in "${STORAGE}",`);
});

test("before everything is removed, the choices of each folder are named, and so is that they can be kept", async () => {
  const [goes, stays] = (await dialog()).split("\n");
  expect(goes).toMatch(/searches that you have made and saved.* choices/);
  expect(stays).toMatch(/leaves .*searches and .*choices/);
});
