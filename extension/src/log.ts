// The one log of the extension; its level is the channel's own.
import * as vscode from "vscode";

export type Log = vscode.LogOutputChannel;

export function openLog(): Log {
  return vscode.window.createOutputChannel("Sidecar", { log: true });
}
