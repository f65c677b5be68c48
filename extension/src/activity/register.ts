// The activity view: what agents searched, what they got, and what they were refused.
import * as vscode from "vscode";
import { asFailure } from "../failure";
import type { Features } from "../features";
import { Feed } from "./feed";
import { ActivityTree, type Node } from "./tree";
import { visible } from "../shown";

const VIEW = "sidecar.activity";
const MOST = 200;
const EVERYTHING = "sidecar.activityEverything";

export function register({ sidecar, choices, log, questions }: Features): vscode.Disposable[] {
  const tree = new ActivityTree(questions);
  const view = vscode.window.createTreeView<Node>(VIEW, { treeDataProvider: tree, showCollapseAll: true });
  const feed = new Feed(
    () => sidecar.call("sidecar/activity", { limit: MOST }),
    (activity) => tree.show(activity),
    (error) => log.debug(`activity: ${visible(asFailure(error).message)}`),
  );
  const refresh = () => (view.visible && sidecar.state === "running" ? void feed.changed() : undefined);
  const showChosen = () => {
    tree.everything = choices.file.value.agents.everything === true;
    void vscode.commands.executeCommand("setContext", EVERYTHING, tree.everything);
    tree.refresh();
  };
  const showEverything = (everything: boolean) => {
    choices.file.change((present) => ({ ...present, agents: { everything } }));
    showChosen();
  };
  showChosen();
  return [
    view,
    view.onDidChangeVisibility(refresh),
    choices.onChange(showChosen),
    sidecar.onDidChangeState(refresh),
    vscode.workspace.onDidChangeWorkspaceFolders(() => tree.refresh()),
    sidecar.on("sidecar/activityChanged", refresh),
    questions.onDidChange(() => {
      const value = questions.all.length;
      view.badge = value > 0 ? { value, tooltip: `${value} waiting for your answer` } : undefined;
      tree.refresh();
    }),
    vscode.commands.registerCommand("sidecar.activity.everything", () => showEverything(true)),
    vscode.commands.registerCommand("sidecar.activity.onlyAgents", () => showEverything(false)),
    vscode.commands.registerCommand("sidecar.activity.searchAgain", (node?: Node) =>
      node?.type === "entry" ? searchAgain(node) : undefined,
    ),
  ];
}

/** Asks the same question in the person's own palette. */
async function searchAgain({ entry: { tool, asked } }: Extract<Node, { type: "entry" }>): Promise<void> {
  const commands: Record<string, string> = { search_docs: "searchDocs", search_by_path: "searchByPath" };
  await vscode.commands.executeCommand(`sidecar.${commands[tool] ?? "searchCode"}`, asked);
}
