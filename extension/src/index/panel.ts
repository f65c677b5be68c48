// The index status page: one panel, which follows what happens.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Sidecar } from "../sidecar";
import type { Builds } from "./builds";
import { nameOf } from "./folders";
import { documentOf } from "./frame";
import { canCancel } from "./offers";
import { contentOf } from "./page";
import type { Snapshots } from "./snapshots";

const TITLE = "Sidecar Index";
const COMMANDS = [
  "createIndex",
  "indexHere",
  "reindexProject",
  "deleteIndex",
  "cancelIndexing",
  "openConfig",
  "restart",
  "showLog",
  "explainPath",
];

export class StatusPanels implements vscode.Disposable {
  private panel: StatusPanel | undefined;

  constructor(
    private readonly sidecar: Sidecar,
    private readonly builds: Builds,
    private readonly snapshots: Snapshots,
    private readonly icon: { light: vscode.Uri; dark: vscode.Uri },
  ) {}

  async show(folder: vscode.WorkspaceFolder): Promise<void> {
    this.panel ??= new StatusPanel(
      this.sidecar,
      this.builds,
      this.snapshots,
      this.icon,
      () => (this.panel = undefined),
    );
    await this.panel.show(folder);
  }

  dispose(): void {
    this.panel?.dispose();
  }
}

class StatusPanel implements vscode.Disposable {
  private readonly panel = vscode.window.createWebviewPanel("sidecar.status", TITLE, vscode.ViewColumn.Active, {
    enableScripts: true,
    enableCommandUris: [...COMMANDS.map((name) => `sidecar.${name}`), "workbench.trust.manage"],
    localResourceRoots: [],
  });
  private readonly listeners: vscode.Disposable[];
  private folder: vscode.WorkspaceFolder | undefined;
  private filled = false;
  /** The column where it was last shown; undefined: it is hidden; null: the editor has not reported it yet. */
  private column: vscode.ViewColumn | undefined | null = null;

  constructor(
    private readonly sidecar: Sidecar,
    private readonly builds: Builds,
    private readonly snapshots: Snapshots,
    icon: { light: vscode.Uri; dark: vscode.Uri },
    closed: () => void,
  ) {
    this.panel.iconPath = icon;
    this.listeners = [
      sidecar.onStatus(() => this.render()),
      sidecar.onDidChangeState(() => this.render()),
      builds.onDidChange(() => this.render()),
      snapshots.onDidChange(() => this.render()),
      vscode.workspace.onDidChangeWorkspaceFolders(({ removed }) => this.foldersChanged(removed)),
      this.panel.onDidChangeViewState(() => this.moved()),
      this.panel.onDidDispose(() => {
        for (const listener of this.listeners) listener.dispose();
        closed();
      }),
    ];
  }

  async show(folder: vscode.WorkspaceFolder): Promise<void> {
    this.folder = folder;
    this.panel.reveal();
    this.render();
    await this.refresh(folder);
  }

  dispose(): void {
    this.panel.dispose();
  }

  /** Nothing is known of a folder that is not open, so its page goes with it. */
  private foldersChanged(removed: readonly vscode.WorkspaceFolder[]): void {
    const own = this.folder?.uri.toString();
    if (removed.some(({ uri }) => uri.toString() === own)) this.panel.dispose();
    else this.render();
  }

  /** The last known state may be older than the page. */
  private async refresh(folder: vscode.WorkspaceFolder): Promise<void> {
    try {
      const status = await this.sidecar.call("sidecar/getIndexStatus", { workspace: folder.uri.toString() });
      const { elsewhere = false, gone = false } = this.sidecar.statuses.get(folder.uri.toString()) ?? {};
      this.put(contentOf(this.subject(folder, { ...status, elsewhere, gone }), Date.now()).text);
    } catch {
      this.render(); // which says what is wrong with the sidecar
    }
  }

  /**
   * A page that is hidden or put elsewhere is taken down, and comes back as it was first. One that merely loses the
   * keyboard stays, with what is selected in it and as far as it is scrolled.
   */
  private moved(): void {
    const column = this.panel.visible ? this.panel.viewColumn : undefined;
    const stays = column === this.column || this.column === null;
    this.column = column;
    if (stays) return;
    this.filled = false;
    this.render();
  }

  private render(): void {
    if (this.folder === undefined) return;
    // What distinguishes it from the others changes with the folders that are open.
    const title = `${TITLE}: ${nameOf(this.folder)}`;
    if (title !== this.panel.title) this.panel.title = title;
    if (!this.panel.visible) return;
    const status = this.sidecar.statuses.get(this.folder.uri.toString());
    this.put(contentOf(this.subject(this.folder, status), Date.now()).text);
  }

  private subject(folder: vscode.WorkspaceFolder, status: Parameters<typeof contentOf>[0]["status"]) {
    const { state } = this.sidecar;
    const { isTrusted: trusted } = vscode.workspace;
    const uri = folder.uri.toString();
    const problem = this.sidecar.problem ?? this.snapshots.says(uri, Date.now());
    const [stoppable, snapshot] = [canCancel(status, this.builds.has(uri)), this.snapshots.has(uri)];
    return { folder: nameOf(folder), uri, state, problem, trusted, status, stoppable, snapshot };
  }

  private put(content: string): void {
    if (this.filled) void this.panel.webview.postMessage(content);
    else this.panel.webview.html = documentOf(TITLE, randomBytes(16).toString("base64url"), content);
    this.filled = true;
  }
}
