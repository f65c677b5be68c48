// Commands on the sidecar itself, and what is offered when it has ended by itself.
import * as vscode from "vscode";
import type { Features } from "../features";
import type { Log } from "../log";

export function register({ sidecar, log }: Features): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand("sidecar.restart", () => sidecar.restart()),
    vscode.commands.registerCommand("sidecar.showLog", () => log.show()),
  ];
}

/** `restart` is asked for by the button only: a program that ends at once would be started for ever. */
export async function offerRestart(log: Log, restart: () => Promise<void>): Promise<void> {
  const chosen = await vscode.window.showErrorMessage("Sidecar has ended unexpectedly.", "Restart", "Show Log");
  if (chosen === "Restart") await restart();
  if (chosen === "Show Log") log.show();
}
