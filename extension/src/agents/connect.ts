// `Sidecar: Connect an Agent…`: shows what would change in the agent's settings, and writes it when the person agrees.
import { homedir } from "node:os";
import { basename, dirname } from "node:path";
import * as vscode from "vscode";
import type { Programs } from "../setup/programs";
import type { VirtualTexts } from "../virtualText";
import { AGENTS, type Agent } from "./catalog";
import { madeFor, takeAway } from "./made";
import { entryText, firstDifference, withEntry } from "./entry";
import { fromSidecar, place, said } from "../shown";
import { tell } from "../tell";

export async function connectAgent(programs: Programs, texts: VirtualTexts): Promise<void> {
  const agent = await chooseAgent();
  const folder = agent && (await chooseFolder(agent));
  if (agent === undefined || folder === undefined) return;
  const file = vscode.Uri.joinPath(folder, agent.file);
  const entry = agent.entry(await programs.forSettings());
  const current = await textOf(file);
  const change = current.unsaved ? { refused: "It has unsaved changes." } : withEntry(agent, current.text, entry);
  if ("refused" in change) await offerText(agent, file, entry, change.refused);
  else if (change.text === current.text) void tell.info(said`${fromSidecar(agent.name)} is connected already.`);
  else await confirm({ agent, file, entry, before: current.text, after: change.text }, texts);
}

interface Proposal {
  agent: Agent;
  file: vscode.Uri;
  entry: object;
  before: string;
  after: string;
}

async function confirm(proposal: Proposal, texts: VirtualTexts): Promise<void> {
  const { agent, file, entry, before, after } = proposal;
  const name = basename(file.path);
  const [old, made] = [texts.keep(`before/${name}`, before), texts.keep(`after/${name}`, after)];
  await vscode.commands.executeCommand("vscode.diff", old, made, `${agent.file}: Sidecar for ${agent.name}`);
  reveal(firstDifference(before, after));
  // A dialog does not cover the beginning of the change, as a list at the top would.
  const chosen = await tell.dialog(
    said`Connect ${fromSidecar(agent.name)}?`,
    [
      said`${place(file.fsPath)} gets this entry, and everything else in it stays:`,
      said``,
      ...entryText(agent, entry).split("\n").map(fromSidecar),
    ],
    WRITE,
    COPY,
  );
  await closeDiff(made);
  if (chosen === WRITE) await writeChecked(proposal);
  if (chosen === COPY) await copyEntry(agent, entry);
}

const WRITE = "Write It";
const COPY = "Copy the Entry Instead";

/** Shows the top of the file, whatever its length. */
function reveal(line: number): void {
  const top = new vscode.Range(line, 0, line, 0);
  vscode.window.activeTextEditor?.revealRange(top, vscode.TextEditorRevealType.AtTop);
}

async function writeChecked({ agent, file, entry, before, after }: Proposal): Promise<void> {
  const now = await textOf(file);
  if (now.unsaved || now.text !== before) {
    await offerText(agent, file, entry, "It has changed in the meantime.");
    return;
  }
  const made = await madeFor(vscode.workspace.fs, file);
  await vscode.workspace.fs.createDirectory(file.with({ path: dirname(file.path) }));
  await vscode.workspace.fs.writeFile(file, Buffer.from(after, "utf8"));
  const chosen = await tell.info(fromSidecar(`${agent.name} is connected. ${agent.then}`), "Open File", "Undo");
  if (chosen === "Open File") await vscode.window.showTextDocument(file);
  if (chosen === "Undo") await takeBack({ agent, file, entry, before, after }, made);
}

/** Restores what was there before. `made` is the file, if it was made for the entry, and the folders around it. */
async function takeBack({ agent, file, before, after }: Proposal, made: readonly vscode.Uri[]): Promise<void> {
  const now = await textOf(file);
  if (now.unsaved || now.text !== after) {
    const message = said`${place(file.fsPath)} has changed since, so its entry is yours to remove.`;
    if ((await tell.warning(message, "Open File")) === "Open File") await vscode.window.showTextDocument(file);
    return;
  }
  if (made.length === 0) await vscode.workspace.fs.writeFile(file, Buffer.from(before, "utf8"));
  else await takeAway(vscode.workspace.fs, made);
  void tell.info(said`${fromSidecar(agent.name)} is not connected any more: ${place(file.fsPath)} is as it was.`);
}

async function offerText(agent: Agent, file: vscode.Uri, entry: object, reason: string): Promise<void> {
  const message = said`${place(file.fsPath)} was not changed: ${fromSidecar(reason)} Add the entry by hand.`;
  const chosen = await tell.warning(message, "Copy Entry", "Open File");
  if (chosen === "Copy Entry") await copyEntry(agent, entry);
  if (chosen === "Open File") await vscode.window.showTextDocument(file);
}

async function copyEntry(agent: Agent, entry: object): Promise<void> {
  await vscode.env.clipboard.writeText(entryText(agent, entry));
  void tell.info(said`The entry for ${fromSidecar(agent.name)} has been copied to the clipboard.`);
}

async function chooseAgent(): Promise<Agent | undefined> {
  const rows = AGENTS.map((agent) => ({
    label: agent.name,
    description: agent.of === "home" ? `~/${agent.file}` : agent.file,
    agent,
  }));
  const options = { title: "Connect an Agent", placeHolder: "Which agent should search with Sidecar?" };
  return (await vscode.window.showQuickPick(rows, options))?.agent;
}

async function chooseFolder(agent: Agent): Promise<vscode.Uri | undefined> {
  if (agent.of === "home") return vscode.Uri.file(homedir());
  const folders = vscode.workspace.workspaceFolders ?? [];
  return (folders.length > 1 ? await vscode.window.showWorkspaceFolderPick() : folders[0])?.uri;
}

async function textOf(file: vscode.Uri): Promise<{ text: string; unsaved: boolean }> {
  const open = vscode.workspace.textDocuments.find((document) => document.uri.toString() === file.toString());
  const bytes = await vscode.workspace.fs.readFile(file).then(
    (read) => read,
    () => new Uint8Array(),
  );
  return { text: Buffer.from(bytes).toString("utf8"), unsaved: open?.isDirty ?? false };
}

async function closeDiff(made: vscode.Uri): Promise<void> {
  const shown = (tab: vscode.Tab): boolean =>
    tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.toString() === made.toString();
  await vscode.window.tabGroups.close(vscode.window.tabGroups.all.flatMap((group) => group.tabs).filter(shown));
}
