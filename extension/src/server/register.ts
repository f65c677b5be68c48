// Commands on the sidecar itself, and what is offered when it has ended by itself.
import * as vscode from "vscode";
import type { Features } from "../features";
import { folderFor } from "../index/folders";
import type { Log } from "../log";
import type { Sidecar } from "../sidecar";
import { showDoctor } from "./doctor";
import { fromSidecar, type Sentence } from "../shown";
import { failed, tell } from "../tell";

export function register(features: Features): vscode.Disposable[] {
  const { sidecar, log, texts, programs } = features;
  return [
    vscode.commands.registerCommand("sidecar.restart", () => {
      programs.wanted();
      return sidecar.renew();
    }),
    vscode.commands.registerCommand("sidecar.showLog", () => log.show()),
    vscode.commands.registerCommand("sidecar.doctor", () => showDoctor(features, texts)),
    vscode.commands.registerCommand("sidecar.openConfig", () => openConfig(sidecar)),
  ];
}

/** Only the button calls `restart`: a program that ends at once would otherwise be restarted for ever. */
export async function offerRestart(message: Sentence, log: Log, restart: () => Promise<void>): Promise<void> {
  const chosen = await tell.error(message, "Restart", "Show Log");
  if (chosen === "Restart") await restart();
  if (chosen === "Show Log") log.show();
}

async function openConfig(sidecar: Sidecar): Promise<void> {
  const folder = await folderFor(undefined);
  if (folder === undefined) return;
  try {
    const config = await sidecar.call("sidecar/getConfig", { workspace: folder.uri.toString() });
    if (config.exists) await vscode.window.showTextDocument(vscode.Uri.file(config.configPath));
    else void tell.info(fromSidecar(config.message));
  } catch (error) {
    void tell.error(failed(error));
  }
}
