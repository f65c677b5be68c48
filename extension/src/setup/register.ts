// The command that makes the private environment again, for one that somebody or something has damaged.
import * as vscode from "vscode";
import type { Features } from "../features";

export function register({ sidecar, programs }: Features): vscode.Disposable[] {
  return [
    vscode.commands.registerCommand("sidecar.repairEnvironment", async () => {
      await programs.forget();
      await sidecar.restart();
    }),
  ];
}
