// A question as a list with the no first and chosen: for one's own commands, and for answering by keys. It goes when the
// question is void.
import * as vscode from "vscode";
import { inRow } from "../shown";
import { headline, ifIgnored } from "./toasts";
import { type Asked, type Chosen, type Question, type WaitingQuestions, questionOf } from "./waiting";

interface Row extends vscode.QuickPickItem {
  chosen: Chosen;
}

/** Undefined: closed without a choice. `gone` gets a function that closes the list from outside. */
function choose(question: Question, gone: (close: () => void) => vscode.Disposable): Promise<Chosen | undefined> {
  return new Promise((settle) => {
    const list = vscode.window.createQuickPick<Row>();
    const listener = gone(() => list.hide());
    list.title = inRow(headline(question));
    list.placeholder = inRow(ifIgnored(question));
    list.ignoreFocusOut = true;
    list.items = [
      { label: inRow(question.no), description: "nothing changes", chosen: { title: question.no } },
      { label: inRow(question.yes), detail: inRow(question.detail), chosen: { title: question.yes } },
    ];
    let chosen: Chosen | undefined;
    list.onDidAccept(() => {
      chosen = list.activeItems[0]?.chosen;
      list.hide();
    });
    list.onDidHide(() => {
      listener.dispose();
      list.dispose();
      settle(chosen);
    });
    list.show();
  });
}

/** Asks a question that a command of this window has caused. Closing the list means no. */
export async function askOwn(asked: Asked, withdrawn: vscode.CancellationToken): Promise<Chosen> {
  const question = { ...questionOf(asked, "own"), asker: "" };
  return (await choose(question, (close) => withdrawn.onCancellationRequested(close))) ?? null;
}

/** For the keys: asks one of the waiting questions, which is chosen first if there are several. Closing answers nothing. */
export async function answerByKeys(waiting: WaitingQuestions): Promise<void> {
  const question = await oneOf(waiting);
  if (question === undefined) return;
  const chosen = await choose(question, (close) =>
    waiting.onDidChange(() => (waiting.get(question.id) === undefined ? close() : undefined)),
  );
  if (chosen?.title === question.yes) waiting.accept(question.id);
  else if (chosen !== undefined) waiting.decline(question.id);
}

async function oneOf(waiting: WaitingQuestions): Promise<Question | undefined> {
  const rows = waiting.all.map((question) => ({ label: inRow(headline(question)), question }));
  if (rows.length <= 1) return rows[0]?.question;
  return (await vscode.window.showQuickPick(rows, { title: "Which question?" }))?.question;
}
