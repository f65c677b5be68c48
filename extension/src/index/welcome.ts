// On the first opening of a folder with files and without an index: one notification that offers to make it.
import * as vscode from "vscode";
import type { Features } from "../features";
import type { FolderStatus } from "../sidecar";
import { said } from "../shown";
import { tell } from "../tell";

const ASKED = "sidecar.offeredIndex";

export class Welcome implements vscode.Disposable {
  private readonly listener: vscode.Disposable;
  private readonly known = new Set<string>();

  constructor(private readonly features: Features) {
    this.listener = features.sidecar.onStatus((status) => void this.heard(status));
  }

  dispose(): void {
    this.listener.dispose();
  }

  /** By the first state that is heard of a folder: an index that goes later has been deleted on purpose. */
  private async heard({ status, workspace, uri: spelled }: FolderStatus): Promise<void> {
    const uri = vscode.Uri.parse(spelled).toString();
    const { workspaceState } = this.features.extension;
    const never = workspaceState.get<string[]>(ASKED, []);
    const first = !this.known.has(uri);
    this.known.add(uri);
    if (status !== "not_found" || !first || never.includes(uri) || (await isEmpty(uri))) return;
    const name = workspace.slice(workspace.lastIndexOf("/") + 1);
    const chosen = await tell.info(
      said`Index ${name} to search it by meaning? It stays on this machine, and no network is used.`,
      "Create Index",
      "Not Now",
      "Never for This Folder",
    );
    if (chosen === "Create Index") await vscode.commands.executeCommand("sidecar.createIndex", uri);
    if (chosen === "Never for This Folder") await workspaceState.update(ASKED, [...never, uri]);
  }
}

async function isEmpty(uri: string): Promise<boolean> {
  const files = new vscode.RelativePattern(vscode.Uri.parse(uri), "**/*");
  return (await vscode.workspace.findFiles(files, undefined, 1)).length === 0;
}
