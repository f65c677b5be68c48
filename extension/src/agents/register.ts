// For agents: the server that the editor's own agents are offered, and entries for other agents.
import * as vscode from "vscode";
import type { Features } from "../features";
import { connectAgent } from "./connect";
import { registerMcp } from "./mcp";
import { failed, tell } from "../tell";

export function register(features: Features): vscode.Disposable[] {
  const { texts } = features;
  return [
    ...registerMcp(features),
    vscode.commands.registerCommand("sidecar.connectAgent", async () => {
      try {
        await connectAgent(features.programs, texts);
      } catch (error) {
        void tell.error(failed(error));
      }
    }),
  ];
}
