// What a hit is, as an icon and as a name.
import type { PlacedHit } from "../sidecar";

/** Codicons by the sidecar's kinds. */
const ICONS: Readonly<Record<string, string>> = {
  class: "symbol-class",
  type: "symbol-interface",
  function: "symbol-function",
  method: "symbol-method",
  constructor: "symbol-constructor",
  field: "symbol-field",
  variable: "symbol-variable",
  constant: "symbol-constant",
  module: "symbol-module",
  namespace: "symbol-namespace",
  macro: "symbol-operator",
  section: "symbol-string",
  cell: "notebook",
  file: "file",
};
const OTHER = "symbol-snippet";

/** Kinds that have a name to go to. */
export const SYMBOL_KINDS: readonly string[] = ["class", "type", "function", "method", "constructor", "macro"];

export function iconOf(kind: string): string {
  return ICONS[kind] ?? OTHER;
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function folderOf(path: string): string {
  const end = path.lastIndexOf("/");
  return end < 0 ? "" : path.slice(0, end);
}

/** The hit's name that its telling lines show, else its first, and how many more there are; its file's where it has none. */
export function nameOf(hit: Pick<PlacedHit, "names" | "path" | "excerpt">): { name: string; more: number } {
  const lines = (hit.excerpt ?? []).map(({ pieces }) => pieces.join(""));
  const shown = hit.names.find((name) => lines.some((line) => isWordIn(name, line)));
  const name = shown ?? hit.names[0];
  return name === undefined ? { name: baseName(hit.path), more: 0 } : { name, more: hit.names.length - 1 };
}

function isWordIn(name: string, line: string): boolean {
  return line.split(/[^\p{L}\p{N}_$]+/u).includes(name);
}
