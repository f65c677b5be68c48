// The extension's only log. The person sets its level in the output channel.
import * as vscode from "vscode";

export type Log = vscode.LogOutputChannel;

export function openLog(): Log {
  return vscode.window.createOutputChannel("Sidecar", { log: true });
}
