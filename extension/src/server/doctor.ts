// `Sidecar: Doctor`: what the editor knows, and what `sidecar doctor` says, as one text to read or to send.
import * as vscode from "vscode";
import { asFailure } from "../failure";
import type { Features } from "../features";
import { run } from "../setup/run";
import type { VirtualTexts } from "../virtualText";
import { environmentFor } from "./program";
import { visible } from "../shown";

const NAME = "Sidecar Doctor.txt";

export async function showDoctor(features: Features, texts: VirtualTexts): Promise<void> {
  const options = { location: vscode.ProgressLocation.Notification, title: "Sidecar is being checked…" };
  const text = await vscode.window.withProgress(options, async () =>
    [...aboutEditor(features), "", await aboutSidecar(features)].join("\n"),
  );
  await vscode.window.showTextDocument(texts.keep(NAME, text), { preview: true });
}

function aboutEditor({ extension, sidecar }: Features): string[] {
  const { version } = extension.extension.packageJSON as { version: string };
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  return [
    `editor         ${vscode.env.appName} ${vscode.version} on ${process.platform}-${process.arch}`,
    `remote         ${vscode.env.remoteName ?? "no"}`,
    `extension      ${version}`,
    `trusted        ${vscode.workspace.isTrusted ? "yes" : "no"}`,
    `folders        ${visible(folders.join(", ")) || "none"}`,
    `state          ${sidecar.state}${sidecar.problem === undefined ? "" : `: ${visible(sidecar.problem)}`}`,
  ];
}

async function aboutSidecar({ programs }: Features): Promise<string> {
  if (!vscode.workspace.isTrusted) return "program        not started: this folder is not trusted\n";
  try {
    const program = await programs.find();
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    const place = folder === undefined ? [] : ["--workspace", folder];
    const env = environmentFor(program, process.env);
    const { output } = await run(program.command, [...program.args, "doctor", ...place], { env });
    return `program        ${program.command}\n${output}`;
  } catch (error) {
    return `program        ${visible(asFailure(error).message)}\n`;
  }
}
