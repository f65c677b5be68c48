import { expect, test } from "vitest";
import { Asking, type Clock, type Outcome } from "../../../src/search/asking";

/** Time that goes on when it is told to. */
class HandClock implements Clock {
  private waiting: { at: number; run: () => void }[] = [];
  private now = 0;

  after(ms: number, run: () => void): () => void {
    const entry = { at: this.now + ms, run };
    this.waiting.push(entry);
    return () => (this.waiting = this.waiting.filter((one) => one !== entry));
  }

  pass(ms: number): void {
    this.now += ms;
    const due = this.waiting.filter(({ at }) => at <= this.now);
    this.waiting = this.waiting.filter(({ at }) => at > this.now);
    for (const { run } of due) run();
  }
}

function room() {
  const clock = new HandClock();
  const asked: { question: string; signal: AbortSignal; answer: (text: string) => void; fail: () => void }[] = [];
  const shown: Outcome<string, string>[] = [];
  const asking = new Asking<string, string>(
    (question, signal) =>
      new Promise((answer, reject) =>
        asked.push({ question, signal, answer, fail: () => reject(new Error(`no ${question}`)) }),
      ),
    (outcome) => shown.push(outcome),
    150,
    clock,
  );
  const settled = () => new Promise((done) => setImmediate(done));
  const answers = () => shown.flatMap((outcome) => (outcome.state === "answered" ? [outcome.answer] : []));
  return { clock, asked, shown, asking, settled, answers };
}

test("nothing is asked before a pause, and then only the last question", () => {
  const { clock, asked, asking } = room();
  asking.soon("r");
  clock.pass(100);
  asking.soon("re");
  clock.pass(100);
  asking.soon("ret");
  expect(asked).toEqual([]);
  clock.pass(150);
  expect(asked.map(({ question }) => question)).toEqual(["ret"]);
});

test("a further question cancels the one that runs", () => {
  const { clock, asked, asking } = room();
  asking.now("one");
  asking.soon("two");
  expect(asked[0]!.signal.aborted).toBe(true);
  clock.pass(150);
  expect(asked[1]!.signal.aborted).toBe(false);
});

test("an answer that comes after a further question is dropped, in whatever order they come", async () => {
  const { asked, asking, settled, answers } = room();
  asking.now("one");
  asking.now("two");
  asked[1]!.answer("second");
  asked[0]!.answer("first");
  await settled();
  expect(answers()).toEqual(["second"]);
});

test("a failure is shown with its question, and one of a superseded question is not", async () => {
  const { asked, asking, shown, settled } = room();
  asking.now("one");
  asking.now("two");
  asked[0]!.fail();
  asked[1]!.fail();
  await settled();
  const failures = shown.filter(({ state }) => state === "failed");
  expect(failures).toEqual([{ state: "failed", question: "two", error: new Error("no two") }]);
});

test("asking is shown at once, while the pause still lasts", () => {
  const { asking, shown } = room();
  asking.soon("one");
  expect(shown).toEqual([{ state: "asking", question: "one" }]);
});

test("after a stop nothing is asked and nothing shown", async () => {
  const { clock, asked, asking, answers, settled } = room();
  asking.now("one");
  asking.soon("two");
  asking.stop();
  clock.pass(1000);
  asked[0]!.answer("late");
  await settled();
  expect(asked).toHaveLength(1);
  expect(answers()).toEqual([]);
});

test("what waits for a pause is asked at once when somebody hurries, and once only", () => {
  const { clock, asked, asking } = room();
  asking.soon("one");
  asking.hurry();
  asking.hurry();
  clock.pass(1000);
  expect(asked.map(({ question }) => question)).toEqual(["one"]);
  asking.soon("two");
  asking.stop();
  asking.hurry();
  expect(asked).toHaveLength(1);
});

test("what is wanted of the answer is done once it is shown, and asked for at once", async () => {
  const { asked, asking, settled, answers } = room();
  const done: string[][] = [];
  expect(asking.afterAnswer(() => done.push(["nothing"]))).toBe(false);
  asking.soon("one");
  expect(asking.afterAnswer(() => done.push(answers()))).toBe(true);
  expect(asked.map(({ question }) => question)).toEqual(["one"]);
  asked[0]!.answer("first");
  await settled();
  expect(done).toEqual([["first"]]);
  expect(asking.afterAnswer(() => done.push(["again"]))).toBe(false);
});

test("what was wanted of an answer is not done with another one, nor after a failure", async () => {
  const { asked, asking, settled } = room();
  const done: string[] = [];
  asking.now("one");
  asking.afterAnswer(() => done.push("one"));
  asking.now("two");
  asked[1]!.answer("second");
  await settled();
  asking.now("three");
  asking.afterAnswer(() => done.push("three"));
  asked[2]!.fail();
  await settled();
  asking.now("four");
  asked[3]!.answer("fourth");
  await settled();
  expect(done).toEqual([]);
});
