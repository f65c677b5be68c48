import { expect, test } from "vitest";
import { readFileSync } from "node:fs";
import { manifestFor, readmeFor, repositoryOf } from "../../packaging.mjs";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const readme = readFileSync("README.md", "utf8");
const REPOSITORY = "https://example.org/somebody/sidecar";

test("where it is published, the manifest names repository, bugs and homepage", () => {
  const packaged = manifestFor(manifest, repositoryOf(`${REPOSITORY}.git`));
  expect(packaged.repository.url).toBe(`${REPOSITORY}.git`);
  expect(packaged.bugs.url).toBe(`${REPOSITORY}/issues`);
  expect(packaged.homepage).toBe(`${REPOSITORY}#readme`);
});

test("a build that is published nowhere names no place, and none is invented in the tree", () => {
  expect(manifestFor(manifest, repositoryOf())).not.toHaveProperty("repository");
  expect(manifest).not.toHaveProperty("repository");
});

test("the packaged manifest has the script that the editor runs after uninstalling, and no other", () => {
  expect(Object.keys(manifestFor(manifest, "").scripts)).toEqual(["vscode:uninstall"]);
  expect(manifestFor(manifest, REPOSITORY).scripts["vscode:uninstall"]).toBe("node ./dist/uninstall.js");
});

test("every picture of the packaged README has an absolute address; without one it is left out", () => {
  const pictures = /!\[[^\]]*\]\(([^)]*)\)/g;
  const published = [...readmeFor(readme, REPOSITORY, "1.2.3").matchAll(pictures)].map(([, at]) => at);
  expect(published.length).toBeGreaterThan(3);
  for (const at of published)
    expect(at).toMatch(/^https:\/\/example\.org\/somebody\/sidecar\/raw\/v1\.2\.3\/extension\/docs\//);
  expect(readmeFor(readme, "", "1.2.3")).not.toMatch(pictures);
});

test("what is no https address is refused", () => {
  for (const wrong of ["git@example.org:a/b.git", "example.org/a/b", "http://example.org/a/b"])
    expect(() => repositoryOf(wrong)).toThrow("REPOSITORY");
});

test("the name is short enough for a notification's source, and Explorer entries say whose they are", () => {
  expect(manifest.displayName.length).toBeLessThanOrEqual(12);
  const titles = new Map(manifest.contributes.commands.map(({ command, title }) => [command, title]));
  for (const menu of ["explorer/context", "editor/context", "editor/title/context"])
    for (const { command } of manifest.contributes.menus[menu]) expect(titles.get(command)).toContain("Sidecar");
});

test("descriptions of settings name no tool and do not repeat what the editor shows of the limits", () => {
  const settings = manifest.contributes.configuration.flatMap(({ properties }) => Object.entries(properties));
  expect(settings.length).toBeGreaterThan(20);
  for (const [name, { description, markdownDescription = description }] of settings) {
    expect(markdownDescription, name).not.toMatch(/Allowed:/);
    expect(markdownDescription, name).not.toMatch(/\b[a-z]+_[a-z_]+\b/);
  }
});
