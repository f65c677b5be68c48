import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Uri } from "vscode";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Files, madeFor, takeAway } from "../../../src/agents/made";

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), "home-"))));
afterEach(() => rmSync(home, { recursive: true }));

interface Place {
  path: string;
  with: (change: { path: string }) => Place;
}

function place(path: string): Uri {
  const here: Place = { path, with: (change) => place(change.path) };
  return here as unknown as Uri;
}

/** Rejects as the editor's file system does. */
function tried<T>(work: () => T): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return Promise.reject(
      Object.assign(new Error(String(error)), { code: isMissing ? "FileNotFound" : "Unavailable" }),
    );
  }
}

/** The disk. As in the editor, what is not to be deleted recursively must be a file or an empty folder. */
const disk = {
  stat: ({ path }: Uri) => tried(() => statSync(path)),
  readDirectory: ({ path }: Uri) => tried(() => readdirSync(path).map((name) => [name, 1])),
  delete: ({ path }: Uri, { recursive = false } = {}) =>
    tried(() => {
      if (recursive) rmSync(path, { recursive });
      else if (statSync(path).isDirectory()) rmdirSync(path);
      else unlinkSync(path);
    }),
} as unknown as Files;

async function written(path: string): Promise<() => Promise<void>> {
  const file = place(join(home, path));
  const made = await madeFor(disk, file);
  mkdirSync(join(file.path, ".."), { recursive: true });
  writeFileSync(file.path, "ours");
  return () => takeAway(disk, made);
}

test("what was made for a file goes with it: the file, and the folders from the innermost one outwards", async () => {
  const takeBack = await written(".codeium/windsurf/mcp_config.json");
  await takeBack();
  expect(readdirSync(home)).toEqual([]);
});

test("what others have put there since stays, wherever in the folders that were made", async () => {
  const takeBack = await written(".codex/config.toml");
  writeFileSync(join(home, ".codex/auth.json"), "a person's credentials");
  await takeBack();
  expect(readdirSync(join(home, ".codex"))).toEqual(["auth.json"]);

  const takeBackInner = await written(".codeium/windsurf/mcp_config.json");
  writeFileSync(join(home, ".codeium/config.json"), "theirs");
  await takeBackInner();
  expect(readdirSync(join(home, ".codeium"))).toEqual(["config.json"]);
});

test("a folder that was there before stays, although it is empty", async () => {
  mkdirSync(join(home, ".cursor"));
  const takeBack = await written(".cursor/mcp.json");
  await takeBack();
  expect(readdirSync(join(home, ".cursor"))).toEqual([]);
});

test("what is written into a folder as it is about to be removed stays", async () => {
  const takeBack = await written(".vscode/mcp.json");
  const { readDirectory } = disk;
  try {
    disk.readDirectory = async (uri) => {
      const names = await readDirectory(uri);
      writeFileSync(join(uri.path, "settings.json"), "{}");
      return names;
    };
    await takeBack();
  } finally {
    disk.readDirectory = readDirectory;
  }
  expect(readdirSync(join(home, ".vscode"))).toEqual(["settings.json"]);
});

test("folders that cannot be looked at are nobody's to remove", async () => {
  const barred: Files = {
    ...disk,
    stat: () => Promise.reject(Object.assign(new Error("no"), { code: "NoPermissions" })),
  };
  mkdirSync(join(home, ".gemini"));
  writeFileSync(join(home, ".gemini/settings.json"), "ours");
  expect((await madeFor(barred, place(join(home, ".gemini/settings.json")))).length).toBe(0);
  expect(existsSync(join(home, ".gemini"))).toBe(true);
});
