import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isInPath } from "../../../src/setup/path";
import { dataFolder, endDaemon, installedPrograms, removeData, removeInstalled } from "../../../src/setup/remains";

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), "gone-"))));
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text = "", mode = 0o644): string {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text, { mode });
  return join(root, path);
}

test("the data folder is the one that sidecar uses, on every platform", () => {
  expect(dataFolder({ SIDECAR_HOME: "/mine" }, "linux", "/home/a")).toBe("/mine");
  expect(dataFolder({ XDG_DATA_HOME: "/data" }, "linux", "/home/a")).toBe("/data/sidecar");
  expect(dataFolder({ SIDECAR_HOME: "" }, "linux", "/home/a")).toBe("/home/a/.local/share/sidecar");
  expect(dataFolder({}, "darwin", "/Users/a")).toBe("/Users/a/Library/Application Support/sidecar");
});

test("only what sidecar has made goes: what else lies in its folders stays", async () => {
  write("data/indexes/0/manifest.sqlite");
  write("data/vectors/vectors.sqlite");
  const kept = write("data/my project/main.py");
  await removeData(join(root, "data"));
  expect(existsSync(join(root, "data/indexes"))).toBe(false);
  expect(existsSync(join(root, "data/vectors"))).toBe(false);
  expect(existsSync(kept)).toBe(true);
  rmSync(join(root, "data/my project"), { recursive: true });
  await removeData(join(root, "data"));
  expect(existsSync(join(root, "data"))).toBe(false);
});

test("the environments and what starts them go, and each is asked to end its process before", async () => {
  const log = join(root, "asked");
  const program = write("storage/environments/abc/bin/sidecar", `#!/bin/sh\necho "$@" >>'${log}'\n`, 0o755);
  const launcher = write("storage/sidecar");
  const storage = join(root, "storage");
  expect(await installedPrograms(storage, "linux")).toEqual([program]);
  await endDaemon(program, process.env);
  expect(readFileSync(log, "utf8")).toBe("daemon stop\n");
  await removeInstalled(storage);
  expect(existsSync(program)).toBe(false);
  expect(existsSync(launcher)).toBe(false);
  await endDaemon(program, process.env);
});

test("the script that the editor runs after uninstalling does the same, from the folder that was noted", () => {
  const log = join(root, "asked");
  const program = write("storage/environments/abc/bin/sidecar", `#!/bin/sh\necho "$@" >>'${log}'\n`, 0o755);
  write("extension/storage.json", JSON.stringify({ storage: join(root, "storage") }));
  const script = join(root, "extension/dist/uninstall.js");
  const build = `--bundle --platform=node --format=cjs --outfile=${script} --log-level=error`.split(" ");
  execFileSync("node_modules/.bin/esbuild", ["src/uninstall.ts", ...build]);
  execFileSync(process.execPath, [script]);
  expect(readFileSync(log, "utf8")).toBe("daemon stop\n");
  expect(existsSync(program)).toBe(false);
});

test("a program is in the path where a shell finds it, and nowhere else", async () => {
  const program = write("bin/sidecar", "#!/bin/sh\n", 0o755);
  write("other/sidecar", "no program");
  const found = (...folders: string[]): Promise<boolean> => isInPath("sidecar", { PATH: folders.join(":") }, "linux");
  expect(await found("/none", join(program, ".."))).toBe(true);
  expect(await found(join(root, "other"))).toBe(false);
  expect(await found("")).toBe(false);
});
