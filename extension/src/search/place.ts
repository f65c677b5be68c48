// Where hits are: files, ranges, and opening them.
import * as vscode from "vscode";
import { type FolderNames, folderNames } from "../folderNames";
import { cellOf } from "./cells";
import type { PlacedHit } from "../sidecar";

type Where = Pick<PlacedHit, "path" | "workspace" | "startLine" | "endLine">;
type Opened = Where & Partial<Pick<PlacedHit, "content">>;

/** Hits name no folder while only one is open. */
export function uriOf(hit: Pick<PlacedHit, "path" | "workspace">): vscode.Uri {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  const root = hit.workspace === undefined ? folders[0]?.uri : vscode.Uri.file(hit.workspace);
  if (root === undefined) throw new Error("No folder is open.");
  return vscode.Uri.joinPath(root, hit.path);
}

export function rangeOf({ startLine, endLine }: Pick<PlacedHit, "startLine" | "endLine">): vscode.Range {
  return new vscode.Range(startLine - 1, 0, Math.max(startLine, endLine) - 1, Number.MAX_SAFE_INTEGER);
}

/** Puts the cursor at the start of the range, or at `line` in it. */
export function startOf(hit: Where, line?: number): vscode.Range {
  const position = new vscode.Position((line ?? hit.startLine) - 1, 0);
  return new vscode.Range(position, position);
}

export async function openHit(hit: Opened, options: vscode.TextDocumentShowOptions = {}, line?: number): Promise<void> {
  if (hit.path.endsWith(".ipynb") && (await openCell(hit, options))) return;
  const selection = startOf(hit, line);
  const editor = await vscode.window.showTextDocument(uriOf(hit), { ...options, selection });
  editor.revealRange(rangeOf(hit), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** Shows the cell that a hit is in. False if the editor cannot show notebooks, and only the lines of the file are left. */
async function openCell(
  hit: Opened,
  { viewColumn, preview = false }: vscode.TextDocumentShowOptions,
): Promise<boolean> {
  try {
    const notebook = await vscode.workspace.openNotebookDocument(uriOf(hit));
    const at = cellOf(
      notebook.getCells().map(({ document }) => document.getText()),
      hit.content ?? "",
    );
    const range = at === undefined ? undefined : new vscode.NotebookRange(at, at + 1);
    const editor = await vscode.window.showNotebookDocument(notebook, {
      preview,
      ...(viewColumn === undefined ? {} : { viewColumn }),
      ...(range === undefined ? {} : { selections: [range] }),
    });
    if (range !== undefined) editor.revealRange(range, vscode.NotebookEditorRevealType.InCenterIfOutsideViewport);
    return true;
  } catch {
    return false;
  }
}

/** The names of the open folders; undefined where there is only one. */
export function several(): FolderNames | undefined {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.length > 1 ? namesOf(folders) : undefined;
}

export function namesOf(folders: readonly vscode.WorkspaceFolder[]): FolderNames {
  return folderNames(folders.map(({ name, uri }) => ({ name, path: uri.fsPath })));
}
