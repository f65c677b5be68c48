// Registers everything about the state of indexes: the status bar item, the page, the welcome, the commands.
import * as vscode from "vscode";
import type { Features } from "../features";
import { Builds } from "./builds";
import { CancelKey } from "./cancelling";
import { registerCommands } from "./commands";
import { folderFor } from "./folders";
import { StatusPanels } from "./panel";
import { Snapshots } from "./snapshots";
import { StatusItem } from "./statusItem";
import { Welcome } from "./welcome";

export function register(features: Features): vscode.Disposable[] {
  const icon = (name: string) => vscode.Uri.joinPath(features.extension.extensionUri, "media", name);
  const builds = new Builds();
  const icons = { light: icon("tab-light.svg"), dark: icon("tab-dark.svg") };
  const snapshots = new Snapshots(features.sidecar);
  const panels = new StatusPanels(features.sidecar, builds, snapshots, icons);
  return [
    builds,
    snapshots,
    new CancelKey(features.sidecar, builds),
    new StatusItem(features.sidecar, builds, snapshots),
    new Welcome(features, builds, snapshots),
    panels,
    vscode.commands.registerCommand("sidecar.showIndexStatus", async (given?: unknown) => {
      const folder = await folderFor(given);
      if (folder !== undefined) await panels.show(folder);
    }),
    ...registerCommands(features, builds),
  ];
}
