// Shows hits in the editor while a list has the focus, and puts back what was there before.
import * as vscode from "vscode";
import type { PlacedHit } from "../sidecar";
import { linesOf } from "./excerpt";
import { rangeOf, startOf, uriOf } from "./place";

export class Preview implements vscode.Disposable {
  private readonly before = vscode.window.activeTextEditor;
  private readonly selection = this.before?.selection;
  private readonly visible = this.before?.visibleRanges[0];
  private readonly openBefore = new Set(openTabs().map(({ uri }) => uri));
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.findMatchForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
  });
  private last = Promise.resolve();
  private wanted: PlacedHit | undefined;
  private shown: vscode.TextEditor | undefined;

  /** The latest wins: what is asked for meanwhile is passed over. */
  show(hit: PlacedHit): void {
    this.wanted = hit;
    this.last = this.last.then(() => (this.wanted === hit ? this.open(hit) : undefined));
  }

  /** Whether a hit was shown, so that there is something to put back. */
  get used(): boolean {
    return this.shown !== undefined;
  }

  /** Back to the editor and the place that were there before. */
  async restore(): Promise<void> {
    this.wanted = undefined;
    await this.last;
    this.unmark();
    if (this.shown === undefined) return;
    const { before, selection } = this;
    if (before !== undefined && selection !== undefined) {
      const options = { viewColumn: before.viewColumn ?? vscode.ViewColumn.Active, selection };
      const editor = await vscode.window.showTextDocument(before.document, options);
      if (this.visible !== undefined) editor.revealRange(this.visible, vscode.TextEditorRevealType.AtTop);
    }
    const left = openTabs().filter(({ tab, uri }) => tab.isPreview && !this.openBefore.has(uri));
    await vscode.window.tabGroups.close(left.map(({ tab }) => tab));
  }

  async settled(): Promise<void> {
    await this.last;
    this.unmark();
  }

  dispose(): void {
    this.decoration.dispose();
  }

  private async open(hit: PlacedHit): Promise<void> {
    try {
      const options = { preview: true, preserveFocus: true, selection: startOf(hit) };
      const editor = await vscode.window.showTextDocument(uriOf(hit), options);
      this.unmark();
      this.shown = editor;
      editor.setDecorations(this.decoration, [rangeOf(hit)]);
      // The list covers the upper half; what it shows of the hit is to be seen below it.
      const telling = linesOf(hit)[0]?.line;
      editor.revealRange(startOf(hit, telling), vscode.TextEditorRevealType.InCenter);
    } catch {
      // A file that has gone since it was indexed has no preview; opening it says why.
    }
  }

  private unmark(): void {
    this.shown?.setDecorations(this.decoration, []);
  }
}

function openTabs(): { tab: vscode.Tab; uri: string }[] {
  return vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .flatMap((tab) => (tab.input instanceof vscode.TabInputText ? [{ tab, uri: tab.input.uri.toString() }] : []));
}
