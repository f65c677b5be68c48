// The only place that shows messages. It takes sentences only, so no foreign string is shown unchanged.
import * as vscode from "vscode";
import { asFailure } from "./failure";
import { type Sentence, fromSidecar } from "./shown";

export const tell = {
  info: <B extends string>(sentence: Sentence, ...buttons: B[]) =>
    vscode.window.showInformationMessage(sentence.text, ...buttons),
  warning: <B extends string>(sentence: Sentence, ...buttons: B[]) =>
    vscode.window.showWarningMessage(sentence.text, ...buttons),
  error: <B extends string>(sentence: Sentence, ...buttons: B[]) =>
    vscode.window.showErrorMessage(sentence.text, ...buttons),
  /** Shows a dialog with these lines below the sentence, as an answer to the person's own command. */
  dialog: <B extends string>(sentence: Sentence, detail: readonly Sentence[], ...buttons: B[]) =>
    vscode.window.showInformationMessage(
      sentence.text,
      { modal: true, detail: detail.map(({ text }) => text).join("\n") },
      ...buttons,
    ),
  /** Shows it for a moment in the status bar. */
  briefly: (icon: string, sentence: Sentence, milliseconds = 5000) =>
    vscode.window.setStatusBarMessage(`$(${icon}) ${sentence.text}`, milliseconds),
};

export function failed(error: unknown): Sentence {
  return fromSidecar(`Sidecar: ${asFailure(error).message}`);
}
