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
export const ICON_KINDS: readonly string[] = Object.keys(ICONS);
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

/**
 * Of the definition that the hit is about, with the name of what it is a member of; of a hit that came without it, such as
 * one found by its likeness, the first that starts in it; else its file's.
 */
export function nameOf({ definition, names, path }: Pick<PlacedHit, "names" | "path" | "definition">): string {
  if (definition === undefined) return names[0] ?? baseName(path);
  const { name, kind, container = "" } = definition;
  const around = container.slice(container.lastIndexOf(".") + 1);
  if (around === "" || container === name) return name;
  return kind === "section" ? `${around} › ${name}` : `${around}.${name}`;
}

export function kindOf(hit: Pick<PlacedHit, "kind" | "definition">): string {
  return hit.definition?.kind ?? hit.kind;
}
