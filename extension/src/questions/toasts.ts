// A question on screen. A message of the editor hides after a while, and no extension can take it back; a notification
// of progress stays for as long as its work lasts and ends with it, so waiting for the answer is that work. It takes no
// focus. Its buttons are links, for it has none of our own.
import * as vscode from "vscode";
import { besideLinks } from "../shown";
import { duration } from "../time";
import type { Question, WaitingQuestions } from "./waiting";

export class Toasts implements vscode.Disposable {
  private readonly shown = new Map<string, () => void>();
  private readonly listener: vscode.Disposable;

  constructor(private readonly waiting: WaitingQuestions) {
    this.listener = waiting.onDidChange(() => this.refresh());
  }

  dispose(): void {
    this.listener.dispose();
    for (const end of this.shown.values()) end();
  }

  private refresh(): void {
    for (const question of this.waiting.all) if (!this.shown.has(question.id)) this.show(question);
    for (const [id, end] of this.shown)
      if (this.waiting.get(id) === undefined) {
        this.shown.delete(id);
        end();
      }
  }

  private show(question: Question): void {
    const answered = new Promise<void>((end) => this.shown.set(question.id, end));
    // If it can be cancelled, the editor shows the whole text; if not, only the first line.
    const options = {
      location: vscode.ProgressLocation.Notification,
      title: textWithLinks(question),
      cancellable: true,
    };
    void vscode.window.withProgress(options, (_, token) => {
      token.onCancellationRequested(() => this.waiting.decline(question.id));
      return answered;
    });
  }
}

/**
 * The question and its links come last. In a narrow window the editor cuts off the beginning, whatever it is, and nobody
 * may answer a question that they cannot see.
 */
export function textWithLinks(question: Question): string {
  const { id, detail, no, yes } = question;
  const link = (title: string, command: string) =>
    `[${besideLinks(title)}](command:${command}?${encodeURIComponent(JSON.stringify([id]))})`;
  const links = `${link(no, "sidecar.question.keep")}  |  ${link(yes, "sidecar.question.accept")}`;
  const outcome = detail === "" ? [] : [`If you choose ${yes}: ${detail}`];
  const facts = [...outcome, ifIgnored(question), "So does Cancel.", headline(question)];
  return [...facts.map(besideLinks), links].join(" ");
}

export function headline({ title, asker }: Question): string {
  return asker === "" ? title : `${title} Asked by ${asker}.`;
}

/** No answer means no. */
export function ifIgnored({ seconds, no }: Question): string {
  return seconds === undefined ? `No answer means ${no}.` : `No answer within ${duration(seconds)} means ${no}.`;
}
