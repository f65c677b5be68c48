// The activity view's tree: who is attached, and every call with what it got.
import * as vscode from "vscode";
import type { ActivityEntry, ActivityResult, AttachedSession } from "../protocol.gen";
import { uriOf } from "../search/place";
import { type Row, entryRow, isForeign, sessionRow } from "./rows";

interface SessionsNode {
  type: "sessions";
}
interface SessionNode {
  type: "session";
  session: AttachedSession;
}
interface EntryNode {
  type: "entry";
  entry: ActivityEntry;
}
interface PathNode {
  type: "path";
  path: string;
  workspace: string;
}
interface MessageNode {
  type: "message";
  text: string;
}
export type Node = SessionsNode | SessionNode | EntryNode | PathNode | MessageNode;

const { Collapsed, None } = vscode.TreeItemCollapsibleState;

export class ActivityTree implements vscode.TreeDataProvider<Node> {
  private told: Pick<ActivityResult, "sessions" | "entries"> = { sessions: [], entries: [] };
  private readonly changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changes.event;
  /** Also what editors asked, this one among them. */
  everything = false;

  show(told: Pick<ActivityResult, "sessions" | "entries">): void {
    this.told = told;
    this.refresh();
  }

  refresh(): void {
    this.changes.fire(undefined);
  }

  getChildren(node?: Node): Node[] {
    if (node === undefined) return this.roots();
    if (node.type === "sessions") return this.sessions.map((session) => ({ type: "session", session }));
    return node.type === "entry" ? outcome(node.entry) : [];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.type) {
      case "sessions":
        return this.sessionsItem();
      case "session":
        return itemOf(sessionRow(node.session, Date.now()), None);
      case "entry":
        return entryItem(node.entry);
      case "path":
        return pathItem(node);
      case "message":
        return itemOf({ label: node.text, description: "", icon: "info", spoken: node.text }, None);
    }
  }

  private get sessions(): AttachedSession[] {
    return this.told.sessions.filter((session) => this.everything || isForeign(session));
  }

  private roots(): Node[] {
    const entries = this.told.entries.filter((entry) => this.everything || isForeign(entry));
    const attached: Node[] = this.sessions.length > 0 ? [{ type: "sessions" }] : [];
    return [...attached, ...entries.map((entry): Node => ({ type: "entry", entry }))];
  }

  private sessionsItem(): vscode.TreeItem {
    const names = [...new Set(this.sessions.map(({ name, door }) => (name === "" ? door : name)))].join(", ");
    const item = itemOf(
      { label: "Attached now", description: names, icon: "plug", spoken: `Attached now: ${names}` },
      Collapsed,
    );
    item.id = "sessions";
    return item;
  }
}

function outcome({ paths = [], message, workspace, answeredBy }: ActivityEntry): Node[] {
  const by = answeredBy === undefined ? [] : [{ type: "message" as const, text: `Answered in ${answeredBy}` }];
  const said = message === undefined ? [] : [{ type: "message" as const, text: message }];
  return [...said, ...by, ...paths.map((path): Node => ({ type: "path", path, workspace }))];
}

function entryItem(entry: ActivityEntry): vscode.TreeItem {
  const item = itemOf(entryRow(entry, Date.now()), outcome(entry).length > 0 ? Collapsed : None);
  item.id = `entry-${entry.id}`;
  item.contextValue = entry.tool.startsWith("search_") ? "search" : "call";
  const took = entry.tookMs === undefined ? "" : `, ${Math.round(entry.tookMs)} ms`;
  item.tooltip = `${entry.tool}${took}\n${new Date(entry.started).toLocaleString()}\n${entry.message ?? ""}`.trim();
  return item;
}

function pathItem({ path, workspace }: PathNode): vscode.TreeItem {
  const uri = uriOf({ path, workspace });
  const item = new vscode.TreeItem(uri, None);
  item.description = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
  item.iconPath = vscode.ThemeIcon.File;
  item.command = { command: "vscode.open", title: "Open", arguments: [uri] };
  item.accessibilityInformation = { label: path };
  return item;
}

function itemOf(
  { label, description, icon, color, spoken }: Row,
  state: vscode.TreeItemCollapsibleState,
): vscode.TreeItem {
  const item = new vscode.TreeItem(label, state);
  item.description = description;
  item.iconPath = new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
  item.accessibilityInformation = { label: spoken };
  return item;
}
