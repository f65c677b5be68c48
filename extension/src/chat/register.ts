// The sidecar's contributions to the editor's chat.
import * as vscode from "vscode";
import type { Features } from "../features";
import { registerParticipant } from "./participant";
import { registerTools } from "./tools";

export function register({ extension, sidecar }: Features): vscode.Disposable[] {
  const icon = vscode.Uri.joinPath(extension.extensionUri, "media", "icon.png");
  return [...registerParticipant(sidecar, icon), ...registerTools(sidecar)];
}
