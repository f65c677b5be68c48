// What a person types for a path, as the sidecar takes it: globs of a filter, patterns of a search by path. The names of
// files have brackets and braces too (`[id].tsx`), so these count as written and, where they can, as a pattern. Does not
// use the editor's API.
import { type FolderNames, placeOfPath } from "../folderNames";

const STARS = /(?<!\\)[*?]/;
const BRACKETS = /[[\]{}]/;
/** Begins at the workspace's own folder; else a name alone is one at any depth. */
const ANCHOR = /^\.?\/+/;

/** Where to search. */
export interface Scope {
  /** The paths of open folders; empty: all of them. */
  workspaces: string[];
  /** Any of these globs may match; empty: every path. */
  paths: string[];
}

/** One request of a search by path; `workspace`: only in this folder. */
export interface PathPattern {
  pattern: string;
  fuzzy?: true;
  workspace?: string;
}

/**
 * Of the values of `path:`, any may match. Where several folders are open, a path that begins with a folder's name is one in
 * it. If such paths name different folders, each counts in all of these.
 */
export function scopeOf(typed: readonly string[], folders?: FolderNames): Scope {
  const places = typed.map((path) => {
    const { workspace, path: rest } = placeOf(path, folders);
    const isAnchored = workspace !== undefined || ANCHOR.test(path);
    return { workspace, globs: globsOf(rest, isAnchored) };
  });
  const workspaces = places.flatMap(({ workspace }) => workspace ?? []);
  return {
    workspaces: workspaces.length < places.length ? [] : [...new Set(workspaces)],
    // One of them is a folder as a whole.
    paths: places.some(({ globs }) => globs.length === 0) ? [] : places.flatMap(({ globs }) => globs),
  };
}

/** The filter for an open folder (`root`: its name, if there are several) or one in it. */
export function pathOfFolder(path: string, root?: string): string {
  const literal = path.replace(/[*?[\]{}\\]/g, String.raw`\$&`);
  return `./${[root, literal].filter((part) => part !== undefined && part !== "").join("/")}`;
}

/** In the order in which their answers count: letters of it, as the editor's list of files takes them; then patterns. */
export function patternsOf(text: string, folders?: FolderNames): PathPattern[] {
  const plain = text.trim();
  const typed = plain.replace(ANCHOR, "") || plain;
  const { workspace, path } = placeOf(typed, folders);
  if (workspace === undefined) return patternsIn(typed);
  const inFolder = path === "" ? [{ pattern: "**" }] : patternsIn(path);
  return [...inFolder.map((pattern) => ({ ...pattern, workspace })), ...patternsIn(typed)];
}

function patternsIn(typed: string): PathPattern[] {
  const letters: PathPattern = { pattern: typed, fuzzy: true };
  if (!STARS.test(typed) && !BRACKETS.test(typed)) return [letters];
  const patterns = waysToRead(typed).filter((glob) => STARS.test(glob) || glob === typed);
  return [letters, ...patterns.map((glob) => ({ pattern: glob.includes("/") ? glob : `**/${glob}` }))];
}

/** The open folder that a path begins with the name of, and the path in it, without slashes around it. */
export function placeOf(typed: string, folders?: FolderNames): { workspace?: string; path: string } {
  const plain = typed.replace(ANCHOR, "");
  const { workspace, path } = placeOfPath(plain.endsWith("/") ? plain : `${plain}/`, folders);
  const rest = path.replace(/\/+$/, "");
  return workspace === undefined ? { path: rest } : { workspace, path: rest };
}

/** A folder means everything in it, a file itself. */
function globsOf(path: string, isAnchored: boolean): string[] {
  if (path === "") return [];
  const start = isAnchored || path.includes("/") ? "" : "**/";
  return waysToRead(path).flatMap((way) => {
    const glob = start + way;
    return STARS.test(way) ? [glob] : [glob, `${glob}/**`];
  });
}

/** With brackets and braces as they are written; then, if there are any and they are closed, as a pattern. */
function waysToRead(path: string): string[] {
  if (!BRACKETS.test(path) || path.includes("\\")) return [path];
  const literal = path.replace(/[[\]{}]/g, String.raw`\$&`);
  return isClosed(path) ? [literal, path] : [literal];
}

function isClosed(path: string): boolean {
  const closes: Readonly<Record<string, string>> = { "[": "]", "{": "}" };
  const open: string[] = [];
  for (const [sign] of path.matchAll(/[[\]{}]/g)) {
    const closing = closes[sign];
    if (closing !== undefined) open.push(closing);
    else if (open.pop() !== sign) return false;
  }
  return open.length === 0;
}
