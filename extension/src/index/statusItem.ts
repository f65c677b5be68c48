// The status bar item: the state of the index to which the file on screen belongs.
import * as vscode from "vscode";
import type { Sidecar } from "../sidecar";
import type { Builds } from "./builds";
import { nameOf, onScreen, openFolders } from "./folders";
import { canCancel, offersFor } from "./offers";
import type { Snapshots } from "./snapshots";
import { type Shown, shown } from "./state";

const BACKGROUNDS: Readonly<Record<Shown["severity"], string | undefined>> = {
  none: undefined,
  warning: "statusBarItem.warningBackground",
  error: "statusBarItem.errorBackground",
};

export class StatusItem implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("sidecar.status", vscode.StatusBarAlignment.Left, 0);
  private readonly listeners: vscode.Disposable[];
  private last = "";

  constructor(
    private readonly sidecar: Sidecar,
    private readonly builds: Builds,
    private readonly snapshots: Snapshots,
  ) {
    this.item.name = "Sidecar";
    const render = () => this.render();
    this.listeners = [
      sidecar.onStatus(render),
      sidecar.onDidChangeState(render),
      builds.onDidChange(render),
      snapshots.onDidChange(render),
      vscode.window.onDidChangeActiveTextEditor(render),
      vscode.window.onDidChangeActiveNotebookEditor(render),
      vscode.workspace.onDidChangeWorkspaceFolders(render),
    ];
    this.render();
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
    this.item.dispose();
  }

  private render(): void {
    const { sidecar, item } = this;
    const folder = currentFolder();
    const uri = folder?.uri.toString();
    const status = uri === undefined ? undefined : sidecar.statuses.get(uri);
    const name = folder === undefined || openFolders().length < 2 ? undefined : nameOf(folder);
    const view = shown(sidecar.state, status, this.more(uri), Date.now(), name);
    // Setting the same tooltip again would close it for somebody who is reading it.
    const now = JSON.stringify([view, uri, vscode.workspace.isTrusted, this.isStoppable(uri), this.snapshots.has(uri)]);
    if (now === this.last) return;
    this.last = now;
    void vscode.commands.executeCommand("setContext", "sidecar.condition", view.condition);
    item.text = view.text;
    item.accessibilityInformation = { label: view.spoken, role: "button" };
    const background = BACKGROUNDS[view.severity];
    item.backgroundColor = background === undefined ? undefined : new vscode.ThemeColor(background);
    item.tooltip = this.tooltip(view, uri);
    item.command = this.command(view, uri);
    if (folder === undefined) item.hide();
    else item.show();
  }

  private more(uri: string | undefined): string | undefined {
    const { step, problem } = this.sidecar;
    if (step !== undefined) return `Sidecar is being set up. ${step}`;
    return problem ?? this.snapshots.says(uri, Date.now());
  }

  private isStoppable(uri: string | undefined): boolean {
    return uri !== undefined && canCancel(this.sidecar.statuses.get(uri), this.builds.has(uri));
  }

  private command({ condition }: Shown, uri: string | undefined): vscode.Command {
    if (!vscode.workspace.isTrusted) return { command: "workbench.trust.manage", title: "Manage Workspace Trust" };
    if (condition === "broken") return { command: "sidecar.showLog", title: "Show Log" };
    return { command: "sidecar.showIndexStatus", title: "Show Index Status", arguments: [uri] };
  }

  private tooltip({ tooltip, condition }: Shown, uri: string | undefined): vscode.MarkdownString {
    const given = encodeURIComponent(JSON.stringify([uri]));
    const link = (command: string, title: string) => `[${title}](command:${command}?${given})`;
    const offers = offersFor(condition, vscode.workspace.isTrusted, this.isStoppable(uri), this.snapshots.has(uri));
    const links = offers.map(({ id, title }) => link(id, title)).join(" · ");
    const markdown = new vscode.MarkdownString(links === "" ? tooltip : `${tooltip}\n\n${links}`);
    markdown.isTrusted = { enabledCommands: offers.map(({ id }) => id) };
    return markdown;
  }
}

function currentFolder(): vscode.WorkspaceFolder | undefined {
  const uri = onScreen();
  const folder = uri === undefined ? undefined : vscode.workspace.getWorkspaceFolder(uri);
  return folder ?? openFolders()[0];
}
