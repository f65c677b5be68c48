// What lasts of this folder's searches, and is the same in every window on it: history, saved searches, last inputs.
import { createHash } from "node:crypto";
import * as vscode from "vscode";
import type { Log } from "../log";
import { SharedFile } from "../sharedFile";
import { visible } from "../shown";
import { NOTHING, type Searches, takeOver } from "./former";

/** Below the folder that the editor gives the extension. */
export const SEARCHES = "searches";

const ID = "sidecar.searches";

export interface LastingSearches {
  file: SharedFile<Searches>;
  /** Tells that another window has changed it. */
  onChange: vscode.Event<void>;
  disposables: vscode.Disposable[];
}

export function lastingSearches(extension: vscode.ExtensionContext, log: Log): LastingSearches {
  const { workspaceState, globalStorageUri } = extension;
  // The editor takes its own storage along when a folder becomes one of several, and with it the name of the file.
  const id = workspaceState.get<string>(ID) ?? idOfWorkspace();
  void workspaceState.update(ID, id);
  const folder = vscode.Uri.joinPath(globalStorageUri, SEARCHES);
  const name = `${id}.json`;
  const file = new SharedFile<Searches>(vscode.Uri.joinPath(folder, name).fsPath, NOTHING, (error) =>
    log.warn(`The searches of this folder last only as long as this window: ${visible(String(error))}`),
  );
  takeOver(workspaceState, file);
  const changes = new vscode.EventEmitter<void>();
  const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(folder, name));
  const look = () => (file.reload() ? changes.fire() : undefined);
  return {
    file,
    onChange: changes.event,
    disposables: [changes, watcher, watcher.onDidCreate(look), watcher.onDidChange(look), watcher.onDidDelete(look)],
  };
}

function idOfWorkspace(): string {
  const { workspaceFile, workspaceFolders = [] } = vscode.workspace;
  const uri = workspaceFile ?? workspaceFolders[0]?.uri;
  return createHash("sha256")
    .update(uri?.toString() ?? "")
    .digest("hex")
    .slice(0, 32);
}
