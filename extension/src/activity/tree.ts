// The activity view's tree: the attached clients, and every call with its result.
import * as vscode from "vscode";
import type { ActivityEntry, ActivityResult, AttachedSession } from "../protocol.gen";
import { headline, ifIgnored } from "../questions/toasts";
import type { Question, WaitingQuestions } from "../questions/waiting";
import { several, uriOf } from "../search/place";
import { fromSidecar, inRow, quoted } from "../shown";
import { type Row, entryRow, isForeign, nameOf, sessionRow } from "./rows";

interface QuestionNode {
  type: "question";
  question: Question;
}
interface AnswerNode {
  type: "answer";
  question: Question;
  yes: boolean;
}
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
export type Node = QuestionNode | AnswerNode | SessionsNode | SessionNode | EntryNode | PathNode | MessageNode;

const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;

export class ActivityTree implements vscode.TreeDataProvider<Node> {
  private activity: Pick<ActivityResult, "sessions" | "entries"> = { sessions: [], entries: [] };
  private readonly changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changes.event;
  /** Shows the calls of editors too, including this one's. */
  everything = false;

  constructor(private readonly waiting: WaitingQuestions) {}

  show(activity: Pick<ActivityResult, "sessions" | "entries">): void {
    this.activity = activity;
    this.refresh();
  }

  refresh(): void {
    this.changes.fire(undefined);
  }

  getChildren(node?: Node): Node[] {
    if (node === undefined) return this.roots();
    if (node.type === "sessions") return this.sessions.map((session) => ({ type: "session", session }));
    if (node.type === "question") return [false, true].map((yes) => ({ type: "answer", question: node.question, yes }));
    return node.type === "entry" ? outcome(node.entry) : [];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.type) {
      case "question":
        return questionItem(node.question);
      case "answer":
        return answerItem(node);
      case "sessions":
        return this.sessionsItem();
      case "session":
        return itemOf(sessionRow(node.session, Date.now()), None);
      case "entry":
        return entryItem(node.entry);
      case "path":
        return pathItem(node);
      case "message":
        return itemOf(textRow(node.text), None);
    }
  }

  private get sessions(): AttachedSession[] {
    return this.activity.sessions.filter((session) => this.everything || isForeign(session));
  }

  private roots(): Node[] {
    const entries = this.activity.entries.filter((entry) => this.everything || isForeign(entry));
    const attached: Node[] = this.sessions.length > 0 ? [{ type: "sessions" }] : [];
    const asked = this.waiting.all.map((question): Node => ({ type: "question", question }));
    return [...asked, ...attached, ...entries.map((entry): Node => ({ type: "entry", entry }))];
  }

  private sessionsItem(): vscode.TreeItem {
    const names = [...new Set(this.sessions.map(nameOf))].join(", ");
    const item = itemOf(
      { label: "Attached now", description: names, icon: "plug", spoken: `Attached now: ${names}` },
      Collapsed,
    );
    item.id = "sessions";
    return item;
  }
}

function questionItem(question: Question): vscode.TreeItem {
  const who = question.asker === "" ? "" : `asked by ${question.asker}`;
  const facts = [who, ifIgnored(question)].filter((part) => part !== "");
  const item = itemOf(
    {
      label: inRow(question.title),
      description: inRow(facts.join("  ·  ")),
      icon: "question",
      color: "charts.yellow",
      spoken: [question.title, ...facts].join(", "),
    },
    Expanded,
  );
  item.id = `question-${question.id}`;
  item.tooltip = [headline(question), question.detail, ifIgnored(question)].map(inRow).join("\n");
  return item;
}

/** The no comes first. */
function answerItem({ question, yes }: AnswerNode): vscode.TreeItem {
  const label = inRow(yes ? question.yes : question.no);
  const spoken = `${label}: ${question.title}`;
  const item = itemOf({ label, description: "", icon: yes ? "check" : "circle-slash", spoken }, None);
  item.id = `question-${question.id}-${yes ? "yes" : "no"}`;
  const command = yes ? "sidecar.question.accept" : "sidecar.question.keep";
  item.command = { command, title: label, arguments: [question.id] };
  return item;
}

function textRow(text: string): Row {
  const label = fromSidecar(text).text;
  return { label, description: "", icon: "info", spoken: label };
}

function outcome({ paths = [], message, workspace, answeredBy }: ActivityEntry): Node[] {
  const by = answeredBy === undefined ? [] : [{ type: "message" as const, text: `Answered in ${quoted(answeredBy)}.` }];
  const said = message === undefined ? [] : [{ type: "message" as const, text: message }];
  return [...said, ...by, ...paths.map((path): Node => ({ type: "path", path, workspace }))];
}

function entryItem(entry: ActivityEntry): vscode.TreeItem {
  const item = itemOf(entryRow(entry, Date.now(), several()), outcome(entry).length > 0 ? Collapsed : None);
  item.id = `entry-${entry.id}`;
  item.contextValue = entry.tool.startsWith("search_") ? "search" : "call";
  return item;
}

function pathItem({ path, workspace }: PathNode): vscode.TreeItem {
  const uri = uriOf({ path, workspace });
  const item = new vscode.TreeItem(uri, None);
  const at = path.lastIndexOf("/");
  item.label = inRow(path.slice(at + 1));
  item.description = inRow(path.slice(0, Math.max(0, at)));
  item.iconPath = vscode.ThemeIcon.File;
  item.command = { command: "vscode.open", title: "Open", arguments: [uri] };
  item.accessibilityInformation = { label: inRow(path) };
  return item;
}

function itemOf(
  { label, description, icon, color, spoken, tip }: Row,
  state: vscode.TreeItemCollapsibleState,
): vscode.TreeItem {
  const item = new vscode.TreeItem(label, state);
  item.description = description;
  item.iconPath = new vscode.ThemeIcon(icon, color === undefined ? undefined : new vscode.ThemeColor(color));
  item.accessibilityInformation = { label: spoken };
  if (tip !== undefined) item.tooltip = tip.join("\n");
  return item;
}
