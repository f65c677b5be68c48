// The sidecar's questions. What loses something is asked in a dialog that waits; the rest in a notification.
import * as vscode from "vscode";

export interface Asked {
  type: number;
  message: string;
  actions?: { title: string }[];
  /** The folder that a call of this editor itself is about; absent where somebody else asks. */
  own?: string;
}

const WARNING = 2;

interface Choice extends vscode.MessageItem {
  title: string;
}

/** The chosen action; null means no. `token`: the question was withdrawn, and an answer to it goes nowhere. */
export async function ask(asked: Asked, token: vscode.CancellationToken): Promise<{ title: string } | null> {
  const actions = asked.actions ?? [];
  const last = actions.length - 1;
  const choices: Choice[] = actions.map(({ title }, i) => ({ title, isCloseAffordance: i === last }));
  const picked = await (asked.type === WARNING ? inDialog(asked.message, choices) : inToast(asked.message, choices));
  if (picked !== undefined && token.isCancellationRequested)
    void vscode.window.showInformationMessage("Sidecar is no longer waiting for that answer, so nothing has changed.");
  return picked === undefined ? null : { title: picked.title };
}

function inDialog(message: string, choices: Choice[]): Thenable<Choice | undefined> {
  const [first = "", ...rest] = message.split("\n");
  return vscode.window.showWarningMessage(first, { modal: true, detail: rest.join("\n") }, ...choices);
}

function inToast(message: string, choices: Choice[]): Thenable<Choice | undefined> {
  return vscode.window.showInformationMessage(message.replaceAll("\n", " "), ...choices);
}
