// What remains after the editor uninstalls the extension: it runs the packaged extension's script and asks nobody.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SIDECAR } from "./places";
import { expect, startEditor, test, Window } from "./test";

const ID = "sidecar-search.sidecar";

// This test has an editor of its own, because the keys that tidy a shared one belong to the extension too.
test("uninstalling removes the private environment and ends the process that windows and agents share, and keeps the indexes", async ({
  browser,
}) => {
  const editor = await startEditor();
  const page = await browser.newPage();
  const window = new Window(page, editor);
  await window.open();
  const { root } = editor;
  const environment = join(root, "data/User/globalStorage", ID, "environments/one");
  mkdirSync(join(environment, "bin"), { recursive: true });
  writeFileSync(join(environment, "bin/sidecar"), `#!/bin/sh\nexec '${SIDECAR}' "$@"\n`, { mode: 0o755 });
  await expect.poll(() => editor.processes("daemon run")).toHaveLength(1);
  const [daemon] = editor.processes("daemon run");
  const indexes = join(root, "home/indexes");
  expect(readdirSync(indexes)).toHaveLength(1);

  await page.goto("about:blank");
  await expect.poll(() => editor.processes("--stdio"), { timeout: 120_000 }).toHaveLength(0);
  expect(editor.processes("daemon run")).toEqual([daemon]);
  await editor.command("--uninstall-extension", ID);
  // The editor removes an uninstalled extension when its next window opens.
  await editor.restart();
  await page.goto(editor.url);
  await expect.poll(() => existsSync(environment), { timeout: 120_000 }).toBe(false);
  await expect.poll(() => editor.processes("sidecar"), { timeout: 120_000 }).toHaveLength(0);
  expect(readdirSync(indexes)).toHaveLength(1);
  await page.close();
  await editor.stop();
});
