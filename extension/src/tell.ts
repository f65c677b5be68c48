// The one place that shows a message. It takes sentences only, so that no string from outside gets there as it is.
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
  /** In a dialog with these lines below the sentence, for what the person has just asked for. */
  dialog: <B extends string>(sentence: Sentence, detail: readonly Sentence[], ...buttons: B[]) =>
    vscode.window.showInformationMessage(
      sentence.text,
      { modal: true, detail: detail.map(({ text }) => text).join("\n") },
      ...buttons,
    ),
  /** For a moment, in the status bar. */
  briefly: (icon: string, sentence: Sentence, milliseconds = 5000) =>
    vscode.window.setStatusBarMessage(`$(${icon}) ${sentence.text}`, milliseconds),
};

export function failed(error: unknown): Sentence {
  return fromSidecar(`Sidecar: ${asFailure(error).message}`);
}
