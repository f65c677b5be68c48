// The ways to answer waiting questions: links of their notifications, rows of the view, keys.
import * as vscode from "vscode";
import type { Features } from "../features";
import { besideLinks, Sentence } from "../shown";
import { tell } from "../tell";
import { answerByKeys } from "./list";
import { Toasts } from "./toasts";

const ANY = "sidecar.asked";

export function register({ sidecar, questions }: Features): vscode.Disposable[] {
  const counted = () => void vscode.commands.executeCommand("setContext", ANY, questions.all.length > 0);
  const command = (name: string, run: (id: string) => void) =>
    vscode.commands.registerCommand(name, (id: unknown) => (typeof id === "string" ? run(id) : undefined));
  counted();
  return [
    new Toasts(questions),
    questions.onDidChange(counted),
    questions.onHasty(
      () => void tell.briefly("watch", new Sentence("That was before anybody could read the question: click again.")),
    ),
    sidecar.on("sidecar/questionClosed", ({ reason, message }) => {
      if (reason === "timeout") void tell.info(ignored(message));
    }),
    command("sidecar.question.keep", (id) => questions.decline(id)),
    command("sidecar.question.accept", (id) => questions.accept(id)),
    vscode.commands.registerCommand("sidecar.question.answer", () => answerByKeys(questions)),
  ];
}

/** The sentence of the question says who asked, and for what. */
function ignored(message: string): Sentence {
  const [sentence = ""] = message.split("\n");
  return new Sentence(`Nobody answered in time, so nothing was changed: ${besideLinks(sentence)}`);
}
