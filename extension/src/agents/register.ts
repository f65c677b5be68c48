// What serves agents: the server that the editor's own are offered, and entries for others.
import * as vscode from "vscode";
import { asFailure } from "../failure";
import type { Features } from "../features";
import { connectAgent } from "./connect";
import { registerMcp } from "./mcp";

export function register(features: Features): vscode.Disposable[] {
  const { texts } = features;
  return [
    ...registerMcp(features),
    vscode.commands.registerCommand("sidecar.connectAgent", async () => {
      try {
        await connectAgent(features.programs, texts);
      } catch (error) {
        void vscode.window.showErrorMessage(`Sidecar: ${asFailure(error).message}`);
      }
    }),
  ];
}
