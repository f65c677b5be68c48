import { expect, test } from "vitest";
import { Agreement, type Place } from "../../../src/setup/agreement";

/** Notes where it is asked; each question waits for its answer. */
function person() {
  const questions: { place: Place; answer: (agrees: boolean) => void }[] = [];
  let starts = 0;
  const agreement = new Agreement(() => starts++);
  const put = (place: Place) =>
    new Promise<boolean>((answer) => {
      questions.push({ place, answer });
    });
  return {
    agreement,
    starts: () => starts,
    asks: () => agreement.ask(agreement.begin(), put),
    places: () => questions.map(({ place }) => place),
    answers: async (at: number, agrees: boolean) => {
      questions[at]!.answer(agrees);
      await Promise.resolve();
      await Promise.resolve();
    },
  };
}

test("a start that nobody asked for says it once, in a message, however often it is begun", () => {
  const { asks, places } = person();
  void asks();
  void asks();
  expect(places()).toEqual(["message"]);
});

test("who asks for a start while the message hides in the bell is asked before their eyes, each time", async () => {
  const { agreement, asks, places, answers } = person();
  void asks();
  for (const at of [1, 2]) {
    agreement.wanted();
    void asks();
    await answers(at, false);
  }
  expect(places()).toEqual(["message", "dialog", "dialog"]);
});

test("a dialog that is open is not put twice, and a later start by itself puts none", async () => {
  const { agreement, asks, places, answers } = person();
  agreement.wanted();
  void asks();
  agreement.wanted();
  void asks();
  expect(places()).toEqual(["dialog"]);
  await answers(0, false);
  void asks();
  expect(places()).toEqual(["dialog", "message"]);
});

test("agreeing anywhere starts once and counts once, and a no can still be changed in the bell", async () => {
  const { agreement, asks, answers, starts } = person();
  void asks();
  agreement.wanted();
  void asks();
  await answers(1, false);
  expect([starts(), agreement.take()]).toEqual([0, false]);
  await answers(0, true);
  expect([starts(), agreement.take(), agreement.take()]).toEqual([1, true, false]);
});

test("the person's command counts for the start that it begins, whether or not that one has to ask", () => {
  const { agreement, asks, places } = person();
  agreement.wanted();
  agreement.begin();
  void asks();
  expect(places()).toEqual(["message"]);
});
