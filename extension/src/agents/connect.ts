// `Sidecar: Connect an Agent…`: shows what would change in the agent's settings, and writes it when told to.
import { homedir } from "node:os";
import { basename, dirname } from "node:path";
import * as vscode from "vscode";
import type { Programs } from "../setup/programs";
import type { VirtualTexts } from "../virtualText";
import { AGENTS, type Agent } from "./catalog";
import { entryText, withEntry } from "./entry";

export async function connectAgent(programs: Programs, texts: VirtualTexts): Promise<void> {
  const agent = await chooseAgent();
  const folder = agent && (await chooseFolder(agent));
  if (agent === undefined || folder === undefined) return;
  const file = vscode.Uri.joinPath(folder, agent.file);
  const entry = agent.entry(await programs.forAgents());
  const current = await textOf(file);
  const change = current.unsaved ? { refused: "It has unsaved changes." } : withEntry(agent, current.text, entry);
  if ("refused" in change) await offerText(agent, file, entry, change.refused);
  else if (change.text === current.text)
    void vscode.window.showInformationMessage(`${agent.name} is connected already.`);
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
  const write = { label: "$(check) Write it", description: file.fsPath, detail: inOneLine(entry) };
  const copy = { label: "$(copy) Copy the entry instead", detail: "Nothing is written." };
  const options = { title: `Connect ${agent.name}`, placeHolder: "The change is shown below.", ignoreFocusOut: true };
  const chosen = await vscode.window.showQuickPick([write, copy], options);
  await closeDiff(made);
  if (chosen === write) await writeChecked(proposal);
  if (chosen === copy) await copyEntry(agent, proposal.entry);
}

function inOneLine(entry: object): string {
  return `Adds ${JSON.stringify(entry)}; everything else stays.`;
}

async function writeChecked({ agent, file, entry, before, after }: Proposal): Promise<void> {
  const now = await textOf(file);
  if (now.unsaved || now.text !== before) {
    await offerText(agent, file, entry, "It has changed meanwhile.");
    return;
  }
  await vscode.workspace.fs.createDirectory(file.with({ path: dirname(file.path) }));
  await vscode.workspace.fs.writeFile(file, Buffer.from(after, "utf8"));
  const chosen = await vscode.window.showInformationMessage(`${agent.name} is connected. ${agent.then}`, "Open File");
  if (chosen === "Open File") await vscode.window.showTextDocument(file);
}

async function offerText(agent: Agent, file: vscode.Uri, entry: object, reason: string): Promise<void> {
  const message = `${file.fsPath} is left as it is: ${reason} Add the entry by hand.`;
  if ((await vscode.window.showWarningMessage(message, "Copy Entry", "Open File")) === "Copy Entry")
    await copyEntry(agent, entry);
  else await vscode.window.showTextDocument(file);
}

async function copyEntry(agent: Agent, entry: object): Promise<void> {
  await vscode.env.clipboard.writeText(entryText(agent, entry));
  void vscode.window.showInformationMessage(`The entry for ${agent.name} is in the clipboard.`);
}

async function chooseAgent(): Promise<Agent | undefined> {
  const rows = AGENTS.map((agent) => ({
    label: agent.name,
    description: agent.of === "home" ? `~/${agent.file}` : agent.file,
    agent,
  }));
  const options = { title: "Connect an Agent", placeHolder: "Which agent is to search with Sidecar?" };
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
