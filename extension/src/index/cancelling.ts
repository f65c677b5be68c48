// Cancel Indexing: when it is offered, what it cancels, and what it says if that was nothing.
import * as vscode from "vscode";
import { Sentence, said } from "../shown";
import type { Sidecar } from "../sidecar";
import { tell } from "../tell";
import type { Builds } from "./builds";
import { folderFor, nameOf, openFolders } from "./folders";
import { canCancel } from "./offers";

/** Whether any open folder's indexing can be cancelled here: the command is offered only then. */
const KEY = "sidecar.cancellable";

/** Keeps the context key of the command. */
export class CancelKey implements vscode.Disposable {
  private readonly listeners: vscode.Disposable[];
  private last: boolean | undefined;

  constructor(
    private readonly sidecar: Sidecar,
    private readonly builds: Builds,
  ) {
    const look = () => this.look();
    this.listeners = [
      sidecar.onStatus(look),
      sidecar.onDidChangeState(look),
      builds.onDidChange(look),
      vscode.workspace.onDidChangeWorkspaceFolders(look),
    ];
    this.look();
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
  }

  private look(): void {
    const now = cancellable(this.sidecar, this.builds).length > 0;
    if (now === this.last) return;
    this.last = now;
    void vscode.commands.executeCommand("setContext", KEY, now);
  }
}

/** Of the given folder, otherwise of every open one in which it can be cancelled here. */
export async function cancelIndexing(sidecar: Sidecar, builds: Builds, given: unknown): Promise<void> {
  const meant = typeof given === "string" ? await folderFor(given) : undefined;
  // A folder that is not open any more has been named to the person already.
  if (typeof given === "string" && meant === undefined) return;
  const folders = meant === undefined ? cancellable(sidecar, builds) : [meant];
  const done = await Promise.all(folders.map(({ uri }) => cancelIn(sidecar, builds, uri.toString())));
  if (!done.includes(true)) void tell.info(whyNothing(sidecar, meant === undefined ? openFolders() : [meant]));
}

/** Whoever has begun it. Returns whether anything was cancelled; it has ended then. */
export async function cancelIn(sidecar: Sidecar, builds: Builds, uri: string): Promise<boolean> {
  if (!builds.has(uri)) return (await sidecar.call("sidecar/cancelIndexing", { workspace: uri })).cancelled;
  await builds.cancel(uri);
  return true;
}

function cancellable(sidecar: Sidecar, builds: Builds): vscode.WorkspaceFolder[] {
  return openFolders().filter((folder) => {
    const uri = folder.uri.toString();
    return canCancel(sidecar.statuses.get(uri), builds.has(uri));
  });
}

function whyNothing({ statuses }: Sidecar, folders: readonly vscode.WorkspaceFolder[]): Sentence {
  const elsewhere = folders.filter(({ uri }) => {
    const status = statuses.get(uri.toString());
    return status?.status === "indexing" && status.elsewhere === true;
  });
  if (elsewhere.length === 0) return said`Sidecar: there was no indexing to cancel.`;
  const names = new Sentence(elsewhere.map((folder) => said`${nameOf(folder)}`.text).join(", "));
  return said`Sidecar: another process is indexing ${names}, and only that process can cancel it.`;
}
