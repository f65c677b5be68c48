// What lasts of this folder's searches, and is the same in every window on it: history, saved searches, last inputs.
import type * as vscode from "vscode";
import { type Lasting, lasting } from "../lasting";
import type { Log } from "../log";
import { NOTHING, type Searches, takeOver } from "./former";

export function lastingSearches(extension: vscode.ExtensionContext, log: Log): Lasting<Searches> {
  const searches = lasting(extension, log, "The searches", "", NOTHING);
  takeOver(extension.workspaceState, searches.file);
  return searches;
}
