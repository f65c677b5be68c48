// On the first opening of a folder with files and without an index: one notification that offers to make it.
import * as vscode from "vscode";
import type { Features } from "../features";
import type { FolderStatus } from "../sidecar";
import { tell } from "../tell";
import { hasOne, offerText } from "./snapshotText";
import type { Snapshots } from "./snapshots";

const ASKED = "sidecar.offeredIndex";
const NEVER = "Never for This Folder";
/** What is offered, and the command that does it. */
const WITHOUT: ReadonlyMap<string, string> = new Map([["Create Index", "sidecar.createIndex"]]);
const WITH_SNAPSHOT: ReadonlyMap<string, string> = new Map([
  ["Use Snapshot", "sidecar.createIndex"],
  ["Index Here Instead", "sidecar.indexHere"],
]);

export class Welcome implements vscode.Disposable {
  private readonly listener: vscode.Disposable;
  private readonly known = new Set<string>();

  constructor(
    private readonly features: Features,
    private readonly snapshots: Snapshots,
  ) {
    this.listener = features.sidecar.onStatus((status) => void this.heard(status));
  }

  dispose(): void {
    this.listener.dispose();
  }

  /** Decided by a folder's first state: an index that disappears later has been deleted on purpose. */
  private async heard({ status, workspace, uri: spelled }: FolderStatus): Promise<void> {
    const uri = vscode.Uri.parse(spelled).toString();
    const { workspaceState } = this.features.extension;
    const never = workspaceState.get<string[]>(ASKED, []);
    const first = !this.known.has(uri);
    this.known.add(uri);
    if (status !== "not_found" || !first || never.includes(uri) || (await isEmpty(uri))) return;
    const name = workspace.slice(workspace.lastIndexOf("/") + 1);
    const offer = await this.snapshots.look(uri);
    const ways = hasOne(offer) ? WITH_SNAPSHOT : WITHOUT;
    const chosen = await tell.info(offerText(name, offer, Date.now()), ...ways.keys(), "Not Now", NEVER);
    if (chosen === NEVER) await workspaceState.update(ASKED, [...never, uri]);
    const commands = [...ways].flatMap(([title, command]) => (title === chosen ? [command] : []));
    for (const command of commands) await vscode.commands.executeCommand(command, uri);
  }
}

async function isEmpty(uri: string): Promise<boolean> {
  const files = new vscode.RelativePattern(vscode.Uri.parse(uri), "**/*");
  return (await vscode.workspace.findFiles(files, undefined, 1)).length === 0;
}
