// `Sidecar: Remove Everything…`: ends and removes what Sidecar has made on this machine, and says what stays.
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";
import type { Features } from "../features";
import { LASTING } from "../lasting";
import { environmentFor } from "../server/program";
import { place, said, type Sentence } from "../shown";
import { failed, tell } from "../tell";
import { STORAGE_NOTE, dataFolder, endDaemon, installedPrograms, removeData, removeInstalled } from "./remains";

const ALL = "Remove Everything";
const SOME = "Keep Indexes and Memories";

export async function removeEverything({ extension, sidecar, programs, log }: Features): Promise<void> {
  const storage = extension.globalStorageUri.fsPath;
  const data = dataFolder(process.env, process.platform);
  const chosen = await tell.dialog(
    said`Remove what Sidecar has made on this machine?`,
    whatGoes(storage, data),
    ALL,
    SOME,
  );
  if (chosen === undefined) return;
  const options = { location: vscode.ProgressLocation.Notification, title: "Sidecar is being removed…" };
  try {
    await vscode.window.withProgress(options, async () => {
      await sidecar.rest(said`Sidecar has been removed from this machine: Restart sets it up again.`.text);
      const own = await programs.forAgents().catch(() => undefined);
      const env = environmentFor({ command: "", args: [], env: {} }, process.env);
      for (const program of [
        ...(own === undefined ? [] : [own]),
        ...(await installedPrograms(storage, process.platform)),
      ])
        await endDaemon(program, env);
      await removeInstalled(storage);
      if (chosen === ALL) await removeAll(storage, data);
    });
    log.info(`removed: ${chosen}`);
    await tell.dialog(said`Sidecar has been removed from this machine.`, whatStays(chosen === SOME ? data : undefined));
  } catch (error) {
    void tell.error(failed(error));
  }
}

async function removeAll(storage: string, data: string): Promise<void> {
  await removeData(data);
  await rm(join(storage, LASTING), { recursive: true, force: true });
}

function whatGoes(storage: string, data: string): Sentence[] {
  return [
    said`These go: the private Python environment in ${place(storage)}, the process that editors, agents and shells share, and everything in ${place(data)}: all indexes, vectors, downloaded models, the memories and documents that agents have kept; and, for each folder, the searches that you have made and saved and your choices: never to offer an index, and what Agents shows.`,
    said`Your code stays as it is. "Keep Indexes and Memories" leaves that folder, the searches and the choices.`,
  ];
}

function whatStays(data: string | undefined): Sentence[] {
  return [
    ...(data === undefined ? [] : [said`The indexes stay in ${place(data)}.`]),
    said`These stay as well: the extension, until you uninstall it; its settings; entries in agents' files, such as .mcp.json; and a sidecar that you installed yourself.`,
  ];
}

/** Writes what the uninstall script needs, which runs later and cannot use the editor's API. */
export async function noteStorage({ extensionPath, globalStorageUri }: vscode.ExtensionContext): Promise<void> {
  await writeFile(join(extensionPath, STORAGE_NOTE), JSON.stringify({ storage: globalStorageUri.fsPath }));
}
