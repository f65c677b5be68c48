// Hits by file, narrowed down by language and folder.
import type { PlacedHit } from "../sidecar";
import { folderOf } from "../search/kinds";

export interface Filter {
  language?: string;
  /** A folder and everything below it. */
  folder?: string;
}

export interface FileGroup {
  path: string;
  workspace: string | undefined;
  hits: PlacedHit[];
}

export interface Choice {
  value: string;
  hits: number;
}

/** Files in the order of their best hits; within a file in the order of its lines. */
export function groupsOf(hits: readonly PlacedHit[]): FileGroup[] {
  const groups = new Map<string, FileGroup>();
  for (const hit of hits) {
    const key = JSON.stringify([hit.workspace, hit.path]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { path: hit.path, workspace: hit.workspace, hits: [hit] });
    else group.hits.push(hit);
  }
  for (const group of groups.values()) group.hits.sort((one, other) => one.startLine - other.startLine);
  return [...groups.values()];
}

export function filtered(hits: readonly PlacedHit[], { language, folder }: Filter): PlacedHit[] {
  return hits.filter(
    (hit) =>
      (language === undefined || hit.language === language) &&
      (folder === undefined || hit.path.startsWith(`${folder}/`)),
  );
}

export function isFiltering(filter: Filter): boolean {
  return filter.language !== undefined || filter.folder !== undefined;
}

/** The filter with this value for one part; undefined removes the part. */
export function withChoice(filter: Filter, part: keyof Filter, value: string | undefined): Filter {
  const others: Filter = { ...filter };
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- one of two known names
  delete others[part];
  return value === undefined ? others : { ...others, [part]: value };
}

export function filterText({ language, folder }: Filter): string {
  return [language, folder === undefined ? undefined : `${folder}/`].filter((part) => part !== undefined).join(", ");
}

/** Most frequent first. */
export function languagesOf(hits: readonly PlacedHit[]): Choice[] {
  return counted(hits.flatMap((hit) => (hit.language === "" ? [] : [hit.language])));
}

/** Every folder, at any depth, with some but not all of the hits. */
export function foldersOf(hits: readonly PlacedHit[]): Choice[] {
  return counted(hits.flatMap(({ path }) => ancestors(path))).filter((choice) => choice.hits < hits.length);
}

function ancestors(path: string): string[] {
  const folder = folderOf(path);
  return folder === "" ? [] : [...ancestors(folder), folder];
}

function counted(values: readonly string[]): Choice[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, hits]) => ({ value, hits }))
    .sort((one, other) => other.hits - one.hits || one.value.localeCompare(other.value));
}
