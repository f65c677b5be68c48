// What a person types among the words of a question: lang:, path:, kind: and "exact text". Knows no editor.
import { ICON_KINDS } from "./kinds";

export type FilterName = "lang" | "path" | "kind";

export interface Wanted {
  /** The question without its filters; what is between quotation marks is a part of it. */
  text: string;
  /** Each list: any of these; empty: all. `exact`: every one of them. */
  languages: string[];
  paths: string[];
  kinds: string[];
  exact: string[];
}

/** A filter at the end of what is typed, whose value may still grow. */
export interface Unfinished {
  name: FilterName;
  value: string;
  /** What stands before it. */
  before: string;
}

const FILTER = /(?<=^|\s)(lang|path|kind):(?:"([^"]*)"?|(\S*))/g;
const LAST = /(?:^|\s)(lang|path|kind):(?:"([^"]*)|([^\s"]*))$/;
const EXACT = /"([^"]+)"/g;
const WILD = /[*?[\]{}]/;

export function understood(typed: string): Wanted {
  const values: Record<FilterName, string[]> = { lang: [], path: [], kind: [] };
  const rest = typed.replace(FILTER, (_, name: FilterName, quoted?: string, plain?: string) => {
    const value = (quoted ?? plain ?? "").trim();
    if (value !== "") values[name].push(value);
    return " ";
  });
  const exact = [...rest.matchAll(EXACT)].map(([, text = ""]) => text).filter((text) => text.trim() !== "");
  return {
    text: rest.replaceAll('"', " ").replace(/\s+/g, " ").trim(),
    languages: values.lang.flatMap((value) => value.split(",")).filter((value) => value !== ""),
    paths: values.path.flatMap(globsOf),
    kinds: values.kind.flatMap((value) => value.split(",")).filter((value) => value !== ""),
    exact,
  };
}

/** The tool's parameters; none for a filter that is not there. */
export function parametersOf({ languages, paths, kinds, exact }: Wanted): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries({ languages, paths, kinds, exact }).filter(([, values]) => values.length > 0),
  );
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

/** What is typed with the filter's value in full, ready for the next word. */
export function finished({ name, before }: Unfinished, value: string): string {
  return `${before}${filterText(name, value)} `;
}

export function filterText(name: FilterName, value: string): string {
  return /\s/.test(value) ? `${name}:"${value}"` : `${name}:${value}`;
}

/** Values that begin as it does, or whose words do, without the one that it is already. */
export function fitting(values: readonly string[], typed: string): string[] {
  const start = typed.toLowerCase();
  if (values.some((value) => value.toLowerCase() === start)) return [];
  return values.filter((value) => value.toLowerCase().startsWith(start));
}

/** Kinds that the sidecar tells apart and a person would ask for. */
export const KINDS: readonly string[] = ICON_KINDS.filter((kind) => kind !== "file");

/** A folder means everything in it, a file itself; a name alone is one at any depth. */
function globsOf(path: string): string[] {
  const plain = path.replace(/^\.?\//, "").replace(/\/+$/, "");
  if (plain === "") return [];
  if (WILD.test(plain)) return [plain.includes("/") ? plain : `**/${plain}`];
  return plain.includes("/") ? [plain, `${plain}/**`] : [plain, `${plain}/**`, `**/${plain}`, `**/${plain}/**`];
}
