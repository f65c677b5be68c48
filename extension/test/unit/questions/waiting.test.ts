import { expect, test } from "vitest";
import type { CancellationToken } from "vscode";
import { type Asked, WaitingQuestions, questionOf } from "../../../src/questions/waiting";

const ASKED: Asked = {
  type: 2,
  message: '"robot" wants to delete the index.\nIt cannot be undone.',
  actions: [{ title: "Delete index" }, { title: "Keep" }],
  question: {
    title: 'Delete the search index of "api"?',
    asker: '"robot"',
    detail: "It cannot be undone.",
    accept: "Delete index",
    decline: "Keep",
    seconds: 120,
  },
};

/** A token that is withdrawn by a call. */
function withdrawable() {
  const listeners = new Set<() => void>();
  const token = {
    isCancellationRequested: false,
    onCancellationRequested: (listener: () => void) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
  };
  return { token: token as unknown as CancellationToken, withdraw: () => listeners.forEach((listener) => listener()) };
}

/** Questions on a clock that is set by hand. */
function onClock() {
  const clock = { now: 0 };
  return { clock, questions: new WaitingQuestions(() => clock.now) };
}

test("a question waits until it is answered, and a yes counts once it has been there to be read", async () => {
  const { clock, questions } = onClock();
  const hasty: string[] = [];
  questions.onHasty(({ title }) => hasty.push(title));
  const chosen = questions.ask(ASKED, withdrawable().token);
  const [question] = questions.all;
  clock.now = 500;
  questions.accept(question!.id);
  expect(questions.all).toHaveLength(1);
  expect(hasty).toEqual(['Delete the search index of "api"?']);
  clock.now = 1000;
  questions.accept(question!.id);
  expect(await chosen).toEqual({ title: "Delete index" });
  expect(questions.all).toEqual([]);
});

test("a no counts at once", async () => {
  const { questions } = onClock();
  const chosen = questions.ask(ASKED, withdrawable().token);
  questions.decline(questions.all[0]!.id);
  expect(await chosen).toEqual({ title: "Keep" });
});

test("a question that goes moves those below it, so a yes to them has to wait again", () => {
  const { clock, questions } = onClock();
  void questions.ask(ASKED, withdrawable().token);
  void questions.ask(ASKED, withdrawable().token);
  const [first, second] = questions.all;
  clock.now = 5000;
  questions.decline(first!.id);
  questions.accept(second!.id);
  expect(questions.all).toEqual([second]);
  clock.now = 6000;
  questions.accept(second!.id);
  expect(questions.all).toEqual([]);
});

test("a withdrawn question disappears, is a no, and a late answer to it means nothing", async () => {
  const { questions } = onClock();
  const { token, withdraw } = withdrawable();
  let changes = 0;
  questions.onDidChange(() => changes++);
  const chosen = questions.ask(ASKED, token);
  const [question] = questions.all;
  withdraw();
  expect(await chosen).toBeNull();
  expect(questions.all).toEqual([]);
  questions.decline(question!.id);
  expect(changes).toBe(2);
});

test("where the sidecar has gone, every question has", async () => {
  const { questions } = onClock();
  const all = [questions.ask(ASKED, withdrawable().token), questions.ask(ASKED, withdrawable().token)];
  questions.withdrawAll();
  expect(await Promise.all(all)).toEqual([null, null]);
});

test("the question of an older sidecar is taken from its message, whose first action is the yes", () => {
  const actions = [{ title: "Delete index" }, { title: "Cancel" }];
  expect(questionOf({ type: 2, message: ASKED.message, actions }, "1")).toMatchObject({
    title: '"robot" wants to delete the index.',
    detail: "It cannot be undone.",
    yes: "Delete index",
    no: "Cancel",
  });
});
