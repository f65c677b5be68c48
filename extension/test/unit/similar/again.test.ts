import { expect, test } from "vitest";
import { Again } from "../../../src/similar/again";

/** A clock that is moved by hand. */
class Clock {
  private readonly due: { at: number; run: () => void }[] = [];
  now = 0;

  later = (run: () => void, milliseconds: number): (() => void) => {
    const one = { at: this.now + milliseconds, run };
    this.due.push(one);
    return () => this.due.splice(this.due.indexOf(one), 1);
  };

  pass(milliseconds: number): void {
    this.now += milliseconds;
    for (const one of this.due.filter(({ at }) => at <= this.now)) {
      this.due.splice(this.due.indexOf(one), 1);
      one.run();
    }
  }
}

test("what comes later is asked for again, less and less often, and not for ever", () => {
  const clock = new Clock();
  const asked: number[] = [];
  const again = new Again(() => {
    asked.push(clock.now);
    again.missing("a.js");
  }, clock.later);
  again.missing("a.js");
  for (let second = 0; second < 600; second++) clock.pass(500);
  expect(asked).toEqual([500, 1500, 3500, 7500, 15_500, 31_500, 63_500]);
});

test("what has come is not asked for again, and if it goes it is waited for anew", () => {
  const clock = new Clock();
  let asked = 0;
  const again = new Again(() => asked++, clock.later);
  again.missing("a.js");
  again.forget("a.js");
  clock.pass(60_000);
  expect(asked).toBe(0);
  again.missing("a.js");
  clock.pass(500);
  expect(asked).toBe(1);
});

test("files wait side by side, and one that asks twice waits once", () => {
  const clock = new Clock();
  let asked = 0;
  const again = new Again(() => asked++, clock.later);
  again.missing("a.js");
  again.missing("a.js");
  again.missing("b.js");
  clock.pass(500);
  expect(asked).toBe(2);
  again.missing("a.js");
  again.forget();
  clock.pass(60_000);
  expect(asked).toBe(2);
});
