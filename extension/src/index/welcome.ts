// On the first opening of a folder with files and without an index: one notification that offers to make it.
import * as vscode from "vscode";
import type { Features } from "../features";
import type { FolderStatus } from "../sidecar";
import { baseName } from "../search/kinds";
import type { Sentence } from "../shown";
import { tell } from "../tell";
import type { Builds } from "./builds";
import { nameOf, openFolders } from "./folders";
import { hasOne, offerText, whyVoid } from "./snapshotText";
import type { Snapshots } from "./snapshots";

const NEVER = "Never for This Folder";
const HERE = "sidecar.indexHere";
const SHOW = "Show Index Status";
/** What is offered, and the command that does it. */
const WITHOUT: ReadonlyMap<string, string> = new Map([["Create Index", "sidecar.createIndex"]]);
const WITH_SNAPSHOT: ReadonlyMap<string, string> = new Map([
  ["Use Snapshot", "sidecar.createIndex"],
  ["Index Here Instead", HERE],
]);

export class Welcome implements vscode.Disposable {
  private readonly listener: vscode.Disposable;
  private readonly known = new Set<string>();

  constructor(
    private readonly features: Features,
    private readonly builds: Builds,
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
    const { file } = this.features.choices;
    const first = !this.known.has(uri);
    this.known.add(uri);
    if (status !== "not_found" || !first || file.value.never.includes(uri) || (await isEmpty(uri))) return;
    const folder = openFolders().find((one) => one.uri.toString() === uri);
    const name = folder === undefined ? baseName(workspace) : nameOf(folder);
    if ((await this.offer(uri, name)) === NEVER)
      file.change(({ never, ...rest }) => ({ ...rest, never: [...never.filter((one) => one !== uri), uri] }));
  }

  /** Returns what was chosen. */
  private async offer(uri: string, name: string): Promise<string | undefined> {
    const offer = await this.snapshots.look(uri);
    if (this.whyVoid(uri, name) !== undefined) return undefined;
    const ways = hasOne(offer) ? WITH_SNAPSHOT : WITHOUT;
    const chosen = await tell.info(offerText(name, offer, Date.now()), ...ways.keys(), "Not Now", NEVER);
    const command = chosen === undefined ? undefined : ways.get(chosen);
    if (command !== undefined) await this.take(command, uri, name);
    return chosen;
  }

  /** No message of the editor can be taken back, so the offer may be older than an index that was begun elsewhere. */
  private async take(command: string, uri: string, name: string): Promise<void> {
    // What was begun in this window is ended by Index Here Instead.
    const isOwn = this.builds.has(uri);
    const why = isOwn && command === HERE ? undefined : this.whyVoid(uri, name);
    if (why === undefined) await vscode.commands.executeCommand(command, uri);
    else if ((await tell.info(why, SHOW)) === SHOW)
      await vscode.commands.executeCommand("sidecar.showIndexStatus", uri);
  }

  private whyVoid(uri: string, name: string): Sentence | undefined {
    return whyVoid(name, this.features.sidecar.statuses.get(uri) ?? {}, this.builds.has(uri));
  }
}

async function isEmpty(uri: string): Promise<boolean> {
  const files = new vscode.RelativePattern(vscode.Uri.parse(uri), "**/*");
  return (await vscode.workspace.findFiles(files, undefined, 1)).length === 0;
}
