import type * as vscode from "vscode";
import type { Features } from "../features";

export function register(_: Features): vscode.Disposable[] {
  return [];
}
