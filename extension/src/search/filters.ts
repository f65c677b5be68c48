// Filters among the words of a question: lang:, path:, kind: and "exact text". Does not use the editor's API.
import type { FolderNames } from "../folderNames";
import { ICON_KINDS } from "./kinds";
import { type Scope, scopeOf } from "./typedPath";

export type FilterName = "lang" | "path" | "kind";

export interface Wanted extends Scope {
  /** The question without its filters, but with the text between quotation marks. */
  text: string;
  /** Of each list, any value may match; empty: no filter. Of `exact`, all values must match. */
  languages: string[];
  kinds: string[];
  exact: string[];
}

/** A filter at the end of the input, whose value may be incomplete. */
export interface Unfinished {
  name: FilterName;
  value: string;
  /** The input before it. */
  before: string;
}

const FILTER = /(?<=^|\s)(lang|path|kind):(?:"([^"]*)"?|(\S*))/g;
/** Filters alone, at the beginning and at the end of a text. */
const AROUND =
  /^(?:\s*(?:lang|path|kind):(?:"[^"]*"|[^\s"]+)(?=\s|$))+|(?:\s(?:lang|path|kind):(?:"[^"]*"|[^\s"]+)\s*)+$/g;
/**
 * The sidecar reads longer questions as texts that were pasted: code, logs, issues. So are those of several lines. Their
 * quotation marks are theirs.
 */
const LONG = 200;
/** So many exact texts a search takes. */
const MOST_EXACT = 20;
const LAST = /(?:^|\s)(lang|path|kind):(?:"([^"]*)|([^\s"]*))$/;
const EXACT = /"([^"]+)"/g;

/** `folders`: the names of the open folders, if there are several. */
export function understood(typed: string, folders?: FolderNames): Wanted {
  const values: Record<FilterName, string[]> = { lang: [], path: [], kind: [] };
  const take = (text: string): string =>
    text.replace(FILTER, (_, name: FilterName, quoted?: string, plain?: string) => {
      const value = (quoted ?? plain ?? "").trim();
      if (value !== "") values[name].push(value);
      return " ";
    });
  const core = typed.replace(AROUND, "").trim();
  const hasLines = core.includes("\n");
  const isPasted = hasLines || core.length > LONG;
  const rest = isPasted ? typed.replace(AROUND, take) : take(typed);
  const text = isPasted ? rest : rest.replaceAll('"', " ");
  return {
    text: (hasLines ? text : text.replace(/\s+/g, " ")).trim(),
    languages: values.lang.flatMap((value) => value.split(",")).filter((value) => value !== ""),
    ...scopeOf(values.path, folders),
    kinds: values.kind.flatMap((value) => value.split(",")).filter((value) => value !== ""),
    exact: isPasted ? [] : exactIn(rest),
  };
}

function exactIn(text: string): string[] {
  const exact = [...text.matchAll(EXACT)].map(([, quoted = ""]) => quoted).filter((quoted) => quoted.trim() !== "");
  return exact.length > MOST_EXACT ? [] : exact;
}

/** The tool's parameters and its place, without those of absent filters. */
export function parametersOf({
  languages,
  paths,
  kinds,
  exact,
  workspaces,
}: Wanted): Record<string, string | string[]> {
  const [workspace, ...more] = workspaces;
  const lists = Object.entries({ languages, paths, kinds, exact, workspaces: more.length > 0 ? workspaces : [] });
  return {
    ...Object.fromEntries(lists.filter(([, values]) => values.length > 0)),
    ...(workspace === undefined || more.length > 0 ? {} : { workspace }),
  };
}

export function isFiltered(wanted: Wanted): boolean {
  return Object.keys(parametersOf(wanted)).length > 0;
}

export function unfinished(typed: string): Unfinished | undefined {
  const match = LAST.exec(typed);
  if (match === null) return undefined;
  const [all, name, quoted, plain] = match;
  const before = typed.slice(0, match.index) + (/^\s/.exec(all)?.[0] ?? "");
  return { name: name as FilterName, value: quoted ?? plain ?? "", before };
}

/** The input with the filter's complete value, ready for the next word. */
export function finished({ name, before }: Unfinished, value: string): string {
  return `${before}${filterText(name, value)} `;
}

export function filterText(name: FilterName, value: string): string {
  return /\s/.test(value) ? `${name}:"${value}"` : `${name}:${value}`;
}

/** Values that begin with the typed text, or contain a word that does, except one equal to it. */
export function fitting(values: readonly string[], typed: string): string[] {
  const start = typed.toLowerCase();
  if (values.some((value) => value.toLowerCase() === start)) return [];
  return values.filter((value) => value.toLowerCase().startsWith(start));
}

/** The sidecar's kinds that a person would ask for. */
export const KINDS: readonly string[] = ICON_KINDS.filter((kind) => kind !== "file");
