// The commands that make the private environment again, for one that somebody or something has damaged, and that remove
// what Sidecar has made.
import * as vscode from "vscode";
import type { Features } from "../features";
import { noteStorage, removeEverything } from "./removal";

export function register(features: Features): vscode.Disposable[] {
  const { extension, sidecar, programs, log } = features;
  // Without a shared process, agents of other programs are not listed here, and their questions do not come here.
  void vscode.commands.executeCommand("setContext", "sidecar.alone", process.platform === "win32");
  noteStorage(extension).catch((error: unknown) => log.debug(String(error)));
  return [
    vscode.commands.registerCommand("sidecar.repairEnvironment", async () => {
      await programs.forget();
      await sidecar.restart();
    }),
    vscode.commands.registerCommand("sidecar.removeEverything", () => removeEverything(features)),
  ];
}
