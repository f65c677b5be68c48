// One hit as a peek: shown in the middle of the file that somebody is in, which stays where it is.
import * as vscode from "vscode";
import { openHit, rangeOf, uriOf } from "../search/place";
import type { PlacedHit } from "../sidecar";

/** Where no file is open there is nothing to stay in, and the hit is opened. */
export async function peekAt(hit: PlacedHit): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return openHit(hit);
  const { document, selection } = editor;
  const found = [new vscode.Location(uriOf(hit), rangeOf(hit))];
  await vscode.commands.executeCommand("editor.action.peekLocations", document.uri, selection.active, found, "peek");
}
