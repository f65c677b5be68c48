// @sidecar in the editor's chat.
import * as vscode from "vscode";
import { type Asked, find } from "../search/find";
import { rangeOf, uriOf } from "../search/place";
import { linesText } from "../search/row";
import { visible } from "../shown";
import type { PlacedHit, Sidecar } from "../sidecar";
import { type AskModel, type Teller, answer } from "./answer";

export const PARTICIPANT = "sidecar.chat";

export function registerParticipant(sidecar: Sidecar, icon: vscode.Uri): vscode.Disposable[] {
  // Editors based on VS Code may have no chat.
  if (typeof (vscode.chat as Partial<typeof vscode.chat> | undefined)?.createChatParticipant !== "function") return [];
  const participant = vscode.chat.createChatParticipant(PARTICIPANT, async (request, _, stream, token) => {
    const model = request.command === "explain" ? modelOf(request, token) : undefined;
    await answer(askedOf(request), (asked) => find(sidecar, asked, token), tellerOf(stream), model);
  });
  participant.iconPath = icon;
  return [participant];
}

function askedOf({ prompt, command }: vscode.ChatRequest): Asked {
  return { subject: command === "docs" ? "docs" : "code", query: prompt.trim(), mode: "hybrid" };
}

function modelOf({ model }: vscode.ChatRequest, token: vscode.CancellationToken): AskModel {
  return async (prompt) => (await model.sendRequest([vscode.LanguageModelChatMessage.User(prompt)], {}, token)).text;
}

function tellerOf(stream: vscode.ChatResponseStream): Teller {
  return {
    busy: (what) => stream.progress(what),
    say: (markdown) => stream.markdown(markdown),
    link: (hit: PlacedHit) => {
      const place = new vscode.Location(uriOf(hit), rangeOf(hit));
      stream.reference(place);
      stream.anchor(place, visible(`${hit.path}:${linesText(hit)}`));
    },
    button: (title, command, ...given) => stream.button({ title, command, arguments: given }),
  };
}
