// Shows hits in the editor while a list has the focus, and puts back what was there before.
import * as vscode from "vscode";
import type { PlacedHit } from "../sidecar";
import { linesOf } from "./excerpt";
import { rangeOf, startOf, uriOf } from "./place";

export class Preview implements vscode.Disposable {
  private readonly before = vscode.window.activeTextEditor;
  private readonly selections = this.before?.selections;
  private readonly visible = this.before?.visibleRanges[0];
  private readonly openBefore = new Set(openTabs().map(({ uri }) => uri));
  private readonly decoration = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
    // Themes of high contrast have no such background; in the others this has no colour.
    border: "1px solid",
    borderColor: new vscode.ThemeColor("sidecar.previewBorder"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.findMatchForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Full,
  });
  private last = Promise.resolve();
  private wanted: PlacedHit | undefined;
  private shown: vscode.TextEditor | undefined;
  private touchedBefore = false;

  /** The latest request counts; those in between are skipped. */
  show(hit: PlacedHit): void {
    this.wanted = hit;
    this.last = this.last.then(() => (this.wanted === hit ? this.open(hit) : undefined));
  }

  /** Whether a hit was shown, so that the former place has to be restored. */
  get used(): boolean {
    return this.shown !== undefined;
  }

  /**
   * Back to the editor and the place that were there before. The keyboard stays where it is by now: whoever closes the
   * list may have opened something else.
   */
  async restore(): Promise<void> {
    this.wanted = undefined;
    await this.last;
    this.unmark();
    if (this.shown === undefined) return;
    if (this.isStillShown()) await this.showBefore();
    const left = openTabs().filter(({ tab, uri }) => tab.isPreview && !this.openBefore.has(uri));
    await vscode.window.tabGroups.close(
      left.map(({ tab }) => tab),
      true,
    );
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
      this.touchedBefore ||= editor.document === this.before?.document;
      editor.setDecorations(this.decoration, [rangeOf(hit)]);
      // The list covers the upper half, so the hit is shown below it.
      const best = linesOf(hit)[0]?.line;
      editor.revealRange(startOf(hit, best), vscode.TextEditorRevealType.InCenter);
    } catch {
      // A file that has gone since it was indexed has no preview; opening it says why.
    }
  }

  /** Whether the person has not gone to another file meanwhile. */
  private isStillShown(): boolean {
    const active = vscode.window.activeTextEditor?.document;
    return active === undefined || active === this.shown?.document;
  }

  private async showBefore(): Promise<void> {
    const { before, selections, visible } = this;
    if (before === undefined || selections === undefined) return;
    const options = { viewColumn: before.viewColumn ?? vscode.ViewColumn.Active, preserveFocus: true };
    const editor = await vscode.window.showTextDocument(before.document, options);
    // The editor itself knows how far the file was scrolled, unless a hit in it was shown.
    if (!this.touchedBefore) return;
    editor.selections = selections;
    if (visible !== undefined) scrollTo(editor, visible);
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

/**
 * Makes the first of these lines the first one in the editor. What is revealed at its top has lines above it: as many as
 * sticky scroll may cover, or as are kept around the cursor, and at most half of those that are visible.
 */
function scrollTo(editor: vscode.TextEditor, visible: vscode.Range): void {
  const settings = vscode.workspace.getConfiguration("editor", editor.document);
  const sticky = settings.get<boolean>("stickyScroll.enabled", false)
    ? settings.get<number>("stickyScroll.maxLineCount", 0)
    : 0;
  const above = Math.max(sticky, settings.get<number>("cursorSurroundingLines", 0));
  const most = Math.floor((visible.end.line - visible.start.line) / 2);
  const line = visible.start.line + Math.min(above, most);
  editor.revealRange(new vscode.Range(line, 0, line, 0), vscode.TextEditorRevealType.AtTop);
}
