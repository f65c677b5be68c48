// Completions of a filter that is being typed: languages of the index, kinds, folders of the workspace.
import * as vscode from "vscode";
import type { Sidecar } from "../sidecar";
import { KINDS, type Unfinished, filterText, finished, fitting } from "./filters";
import { several } from "./place";
import { countText } from "./row";
import { placeOf } from "./typedPath";

export interface Completion {
  /** The filter with its value. */
  title: string;
  /** How much the filter would leave; empty: not known. */
  detail: string;
  /** The whole input after the completion. */
  typed: string;
}

const MOST = 30;

/** Empty if the value is complete already, or nothing fits. */
export async function completionsOf(sidecar: Sidecar, part: Unfinished): Promise<Completion[]> {
  const counted = part.name === "lang" ? languagesOf(sidecar) : undefined;
  const values = counted !== undefined ? [...counted.keys()] : part.name === "kind" ? KINDS : await folders(part.value);
  return fitting(values, part.value)
    .slice(0, MOST)
    .map((value) => ({
      title: filterText(part.name, value),
      detail: filesText(counted?.get(value)),
      typed: finished(part, value),
    }));
}

/** Languages with their numbers of files, the most frequent first. */
function languagesOf({ statuses }: Sidecar): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { languages = {} } of statuses.values())
    for (const [name, files] of Object.entries(languages)) counts.set(name, (counts.get(name) ?? 0) + files);
  return new Map([...counts].sort(([, one], [, other]) => other - one));
}

/** The folders beside and below the typed path, in every open folder, or in the one that it begins with the name of. */
async function folders(typed: string): Promise<string[]> {
  const above = typed.slice(0, typed.lastIndexOf("/") + 1);
  const names = several();
  const { workspace, path } = placeOf(above, names);
  const roots = (vscode.workspace.workspaceFolders ?? []).filter(
    ({ uri }) => workspace === undefined || uri.fsPath === workspace,
  );
  const found = await Promise.all(roots.map(({ uri }) => foldersIn(vscode.Uri.joinPath(uri, path))));
  const own = workspace === undefined && path === "" ? [...(names?.values() ?? [])] : [];
  return [...new Set([...own, ...found.flat()])].sort().map((name) => above + name);
}

async function foldersIn(uri: vscode.Uri): Promise<string[]> {
  try {
    const entries = await vscode.workspace.fs.readDirectory(uri);
    return entries.flatMap(([name, type]) =>
      type === vscode.FileType.Directory && !name.startsWith(".") ? [name] : [],
    );
  } catch {
    return []; // what is typed names no folder
  }
}

function filesText(files: number | undefined): string {
  return files === undefined ? "" : countText(files).replace(/result/, "file");
}
