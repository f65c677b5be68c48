// The results view: what it shows, how that is narrowed down, and what it says when there is nothing.
import { counted } from "../counts";
import * as vscode from "vscode";
import { adviceForError, adviceForNothing, whatHelps } from "../search/advice";
import { type Asked, find, titleOf } from "../search/find";
import { countText } from "../search/row";
import type { PlacedHit, Sidecar } from "../sidecar";
import {
  type Choice,
  type Filter,
  filterText,
  filtered,
  foldersOf,
  isFiltering,
  languagesOf,
  withChoice,
} from "./groups";
import { type Node, childrenOf, parentOf } from "./nodes";
import type { Kept, Shelf } from "./shelf";
import { ResultsTree } from "./tree";

export const RESULTS_VIEW = "sidecar.results";

export class ResultsView implements vscode.Disposable {
  private readonly tree = new ResultsTree();
  private readonly view: vscode.TreeView<Node>;
  private filter: Filter = {};
  private lastChosen: Node | undefined;
  private running = new vscode.CancellationTokenSource();

  constructor(
    private readonly sidecar: Sidecar,
    private readonly shelf: Shelf,
  ) {
    this.view = vscode.window.createTreeView(RESULTS_VIEW, {
      treeDataProvider: this.tree,
      showCollapseAll: true,
      canSelectMany: true,
    });
    this.view.onDidChangeSelection(({ selection }) => (this.lastChosen = selection[0] ?? this.lastChosen));
    this.render();
  }

  /** The hits that the filter leaves. */
  get hits(): PlacedHit[] {
    return filtered(this.shelf.results?.found.hits ?? [], this.filter);
  }

  get selection(): readonly Node[] {
    return this.view.selection;
  }

  /** The row that is or was last selected, because the editor forgets it when it fills the view anew. */
  get chosen(): Node | undefined {
    return this.selection[0] ?? this.lastChosen;
  }

  async keep(kept: Kept): Promise<void> {
    this.put(kept);
    await this.bringUp();
  }

  clear(): void {
    this.put(undefined);
  }

  /** Asks again, and keeps the answer. */
  async run(asked: Asked): Promise<void> {
    this.running.cancel();
    const { token } = (this.running = new vscode.CancellationTokenSource());
    await vscode.commands.executeCommand(`${RESULTS_VIEW}.focus`);
    await vscode.window.withProgress({ location: { viewId: RESULTS_VIEW } }, async () => {
      try {
        const found = await find(this.sidecar, asked, token);
        if (token.isCancellationRequested) return;
        this.shelf.note(asked, found.hits.length);
        this.put({ asked, found });
      } catch (error) {
        if (token.isCancellationRequested) return;
        this.put({ asked, found: { hits: [] } });
        const advice = adviceForError(error);
        const help = whatHelps(advice);
        this.view.message = `${advice.title}. ${advice.detail}${help === "" ? "" : ` What helps: ${help}.`}`;
      }
    });
  }

  async choose(what: "language" | "folder"): Promise<void> {
    const choices = this.choices(what);
    const picked = await vscode.window.showQuickPick([...choices.map(choiceItem), ALL], {
      title: what === "language" ? "Show Results in One Language" : "Show Results in One Folder",
      placeHolder: choices.length === 0 ? "All results are in one" : "Narrows down what is shown",
    });
    if (picked !== undefined) this.setFilter(withChoice(this.filter, what, picked.value));
  }

  private choices(what: "language" | "folder"): Choice[] {
    const hits = this.shelf.results?.found.hits ?? [];
    return what === "language" ? languagesOf(hits) : foldersOf(hits);
  }

  setFilter(filter: Filter): void {
    this.filter = filter;
    this.render();
  }

  /** Unfolds and selects the reasons why a hit was found; for a file, those of its first hit. */
  async why(node: Node): Promise<void> {
    const hit = { file: () => childrenOf(node)[0], hit: () => node, line: () => parentOf(node) };
    const about = node.type in hit ? hit[node.type as keyof typeof hit]() : undefined;
    const why = about === undefined ? undefined : childrenOf(about).find(({ type }) => type === "why");
    if (why !== undefined) await this.view.reveal(why, { select: true, focus: true, expand: true });
  }

  async bringUp(): Promise<void> {
    await vscode.commands.executeCommand(`${RESULTS_VIEW}.focus`);
    // A view that was hidden fills itself only now, and a row that it does not have yet cannot be revealed. `reveal` waits
    // for a refresh that is asked for while the view is on screen.
    this.tree.refresh();
    const first = this.tree.getChildren()[0];
    if (first !== undefined) await this.view.reveal(first, { select: true, focus: true });
  }

  dispose(): void {
    this.running.dispose();
    this.view.dispose();
  }

  private put(kept: Kept | undefined): void {
    this.filter = {};
    this.lastChosen = undefined;
    this.shelf.keep(kept);
    this.render();
  }

  private render(): void {
    const kept = this.shelf.results;
    const { hits } = this;
    this.tree.show(hits);
    // There is no other way to remove the view's message.
    this.view.message =
      kept === undefined ? (undefined as unknown as string) : messageFor(kept, hits.length, this.filter);
    const state = kept === undefined ? "none" : "some";
    void vscode.commands.executeCommand("setContext", "sidecar.results", state);
    void vscode.commands.executeCommand("setContext", "sidecar.results.filtered", isFiltering(this.filter));
  }
}

/** What is shown, how many hits, and in what way the answer is incomplete. */
function messageFor({ asked, found }: Kept, shown: number, filter: Filter): string {
  if (found.hits.length === 0) {
    const { title, detail } = adviceForNothing(asked, found.reason);
    return `${title}. ${detail}`;
  }
  const all = found.hits.length;
  const count = isFiltering(filter)
    ? `${shown} of ${counted(all, "result")}: ${filterText(filter)}`
    : found.available === undefined
      ? countText(all)
      : `${all} of ${countText(found.available)}`;
  return [`${titleOf(asked)}  ·  ${count}`, ...(found.notice === undefined ? [] : [found.notice])].join("\n");
}

const ALL = { label: "$(clear-all) All", value: undefined, description: "" };

function choiceItem({ value, hits }: Choice): { label: string; description: string; value: string | undefined } {
  return { label: value, description: countText(hits), value };
}
