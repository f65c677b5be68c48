// The results view, the history view, and their commands.
import * as vscode from "vscode";
import type { Features } from "../features";
import { openHit, several } from "../search/place";
import { openOrTell } from "../search/unopened";
import type { Spot } from "../search/find";
import { countText } from "../search/row";
import type { PlacedHit } from "../sidecar";
import { HistoryTree } from "./history";
import { markdownOfHits } from "./markdown";
import { type Node, hitOf, hitsOf } from "./nodes";
import { peekAt } from "./peek";
import type { Kept, Past, Shelf } from "./shelf";
import { showAsEditor } from "./editor";
import { ResultsView } from "./view";
import { fromSidecar, said } from "../shown";
import { tell } from "../tell";

export function register({ sidecar, texts }: Features, shelf: Shelf): vscode.Disposable[] {
  const view = new ResultsView(sidecar, shelf);
  const history = new HistoryTree(shelf);
  /** The row whose button was clicked, otherwise the selected one. */
  const about = (run: (node: Node) => Promise<void>) => async (node?: Node) => {
    const chosen = node ?? view.chosen;
    if (chosen === undefined) chooseFirst();
    else await run(chosen);
  };
  const command = (name: string, run: (...given: never[]) => unknown) =>
    vscode.commands.registerCommand(name, run as (...given: unknown[]) => unknown);
  return [
    view,
    history,
    vscode.window.registerTreeDataProvider("sidecar.history", history),
    command("sidecar.results.keep", (kept: Kept) => view.keep(kept)),
    command("sidecar.results.clear", () => view.clear()),
    command("sidecar.results.again", () => (shelf.results === undefined ? undefined : view.run(shelf.results.asked))),
    command("sidecar.results.filterLanguage", () => view.choose("language")),
    command("sidecar.results.filterFolder", () => view.choose("folder")),
    command("sidecar.results.clearFilter", () => view.setFilter({})),
    command("sidecar.results.open", (hit: PlacedHit, line?: number) => openOrTell(hit, () => openHit(hit, {}, line))),
    command("sidecar.results.openToSide", about(openToSide)),
    command("sidecar.results.peek", about(peek)),
    command("sidecar.results.showAsEditor", (kept = shelf.results) =>
      kept === undefined ? undefined : showAsEditor(texts, kept, kept === shelf.results ? view.hits : kept.found.hits),
    ),
    command("sidecar.results.similar", about(findSimilar)),
    command(
      "sidecar.results.why",
      about((node) => view.why(node)),
    ),
    command("sidecar.results.copyAll", () => copy(view.hits, shelf)),
    command("sidecar.results.copy", (node?: Node, nodes?: Node[]) =>
      copy(hitsOf(nodes ?? (node === undefined ? view.selection : [node])), shelf),
    ),
    command("sidecar.history.run", (past: Past) => view.run(past.asked)),
    command("sidecar.history.forget", (past: Past) => shelf.forget(past.asked)),
    command("sidecar.history.clear", () => shelf.forget()),
  ];
}

function chooseFirst(): void {
  void tell.info(said`Sidecar: choose a result in the view first.`);
}

async function openToSide(node: Node): Promise<void> {
  const hit = hitOf(node);
  if (hit !== undefined) await openOrTell(hit, () => openHit(hit, { viewColumn: vscode.ViewColumn.Beside }));
}

async function peek(node: Node): Promise<void> {
  const hit = hitOf(node);
  if (hit !== undefined) await openOrTell(hit, () => peekAt(hit));
}

async function findSimilar(node: Node): Promise<void> {
  const hit = hitOf(node);
  const workspace = hit?.workspace ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (hit === undefined || workspace === undefined) return;
  const spot: Spot = { workspace, path: hit.path, line: hit.startLine };
  await vscode.commands.executeCommand("sidecar.findSimilar", spot);
}

async function copy(hits: readonly PlacedHit[], shelf: Shelf): Promise<void> {
  const kept = shelf.results;
  if (kept === undefined || hits.length === 0) return;
  await vscode.env.clipboard.writeText(markdownOfHits(kept.asked, hits, kept.found.notice, several()));
  tell.briefly("check", said`${fromSidecar(countText(hits.length))} copied as Markdown`);
}
