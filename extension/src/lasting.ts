// What lasts of a folder, and is the same in every window on it: a small file for each subject.
import { createHash } from "node:crypto";
import * as vscode from "vscode";
import type { Log } from "./log";
import { SharedFile } from "./sharedFile";
import { visible } from "./shown";

/** Below the folder that the editor gives the extension. */
export const LASTING = "searches";

const ID = "sidecar.searches";

export interface Lasting<T extends object> {
  file: SharedFile<T>;
  /** Tells that another window has changed it. */
  onChange: vscode.Event<void>;
  disposables: vscode.Disposable[];
}

/** `subject`: what it is about, for a person. `ending` distinguishes the file from those of other subjects. */
export function lasting<T extends object>(
  { workspaceState, globalStorageUri }: vscode.ExtensionContext,
  log: Log,
  subject: string,
  ending: string,
  initial: T,
): Lasting<T> {
  // The editor takes its own storage along when a folder becomes one of several, and with it the name of the file.
  const id = workspaceState.get<string>(ID) ?? idOfWorkspace();
  void workspaceState.update(ID, id);
  const folder = vscode.Uri.joinPath(globalStorageUri, LASTING);
  const name = `${id}${ending}.json`;
  const file = new SharedFile<T>(vscode.Uri.joinPath(folder, name).fsPath, initial, (error) =>
    log.warn(`${subject} of this folder last only as long as this window: ${visible(String(error))}`),
  );
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
