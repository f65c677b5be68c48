// One hit as a peek: shown inside the file that is open, which does not scroll.
import * as vscode from "vscode";
import { openHit, rangeOf, uriOf } from "../search/place";
import type { PlacedHit } from "../sidecar";

/** If no file is open, the hit itself is opened. */
export async function peekAt(hit: PlacedHit): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return openHit(hit);
  // The editor would peek into a file that has gone without a word.
  await vscode.workspace.openTextDocument(uriOf(hit));
  const { document, selection } = editor;
  const found = [new vscode.Location(uriOf(hit), rangeOf(hit))];
  await vscode.commands.executeCommand("editor.action.peekLocations", document.uri, selection.active, found, "peek");
}
