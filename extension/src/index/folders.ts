// The folder that a command is about: the given one, that of the file on screen, otherwise one that the person chooses.
import * as vscode from "vscode";
import { namesOf } from "../search/place";
import { said } from "../shown";
import { tell } from "../tell";

/** Our own pages pass a folder's URI as text. Menus pass other values, which are ignored. */
export async function folderFor(given: unknown): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = openFolders();
  if (typeof given === "string") return among(folders, given);
  if (folders.length === 0) return noFolder();
  if (folders.length === 1) return folders[0];
  return vscode.window.showWorkspaceFolderPick({ placeHolder: "Which folder?" });
}

async function noFolder(): Promise<undefined> {
  const chosen = await tell.info(said`Sidecar: open a folder first.`, "Open Folder");
  if (chosen !== undefined) await vscode.commands.executeCommand("vscode.openFolder");
}

/** A message or a page may be older than the folder's being closed. */
function among(folders: readonly vscode.WorkspaceFolder[], uri: string): vscode.WorkspaceFolder | undefined {
  const folder = folders.find((one) => one.uri.toString() === uri);
  if (folder === undefined) void tell.info(said`Sidecar: this folder is not open in this window any more.`);
  return folder;
}

export function openFolders(): vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
}

/** Its name; where another open folder has the same, as much of its path as distinguishes them. */
export function nameOf(folder: vscode.WorkspaceFolder): string {
  return namesOf(openFolders()).get(folder.uri.fsPath) ?? folder.name;
}

export interface FileInFolder {
  folder: vscode.WorkspaceFolder;
  /** Relative, with slashes. */
  path: string;
}

/** The file or notebook on screen. A cell of a notebook is a document of its own, which is in no folder. */
export function onScreen(): vscode.Uri | undefined {
  return vscode.window.activeNotebookEditor?.notebook.uri ?? vscode.window.activeTextEditor?.document.uri;
}

/** The file on which a menu was opened, otherwise the one on screen. */
export function fileFor(given: unknown): FileInFolder | undefined {
  const uri = given instanceof vscode.Uri ? given : onScreen();
  const folder = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(uri);
  if (uri === undefined || folder?.uri.scheme !== "file") return undefined;
  return { folder, path: uri.path.slice(folder.uri.path.length + 1) };
}
