// Everything about the state of indexes: the status bar item, the page, the welcome, the commands.
import * as vscode from "vscode";
import type { Features } from "../features";
import { registerCommands } from "./commands";
import { folderFor } from "./folders";
import { StatusPanels } from "./panel";
import { StatusItem } from "./statusItem";
import { Welcome } from "./welcome";

export function register(features: Features): vscode.Disposable[] {
  const icon = (name: string) => vscode.Uri.joinPath(features.extension.extensionUri, "media", name);
  const panels = new StatusPanels(features.sidecar, { light: icon("tab-light.svg"), dark: icon("tab-dark.svg") });
  return [
    new StatusItem(features.sidecar),
    new Welcome(features),
    panels,
    vscode.commands.registerCommand("sidecar.showIndexStatus", async (given?: unknown) => {
      const folder = await folderFor(given);
      if (folder !== undefined) await panels.show(folder);
    }),
    ...registerCommands(features),
  ];
}
