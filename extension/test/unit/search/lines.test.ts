import { expect, test } from "vitest";
import { Lines, asQuestion } from "../../../src/search/lines";

const TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in run\n\n\traise KeyError("$&")';
const ONE = 'Traceback (most recent call last): File "a.py", line 3, in run raise KeyError("$&")';

test("the input shows the text on one line, and asks it with its lines", () => {
  const lines = new Lines(TRACE);
  expect(lines.shown).toBe(ONE);
  expect(lines.asked(ONE)).toBe(TRACE);
});

test("what is typed before and after the text is asked with it; a changed text is what it has become", () => {
  const lines = new Lines(TRACE);
  expect(lines.asked(`lang:python ${ONE} kind:method`)).toBe(`lang:python ${TRACE} kind:method`);
  expect(lines.asked(ONE.replace("KeyError", "IndexError"))).toBe(ONE.replace("KeyError", "IndexError"));
  expect(lines.asked("retry")).toBe("retry");
});

test("a text of one line, and none at all, are what is typed", () => {
  expect(new Lines("retry  with backoff").asked("retry  with backoff twice")).toBe("retry  with backoff twice");
  expect(new Lines("path:./src ").asked("path:./src retry")).toBe("path:./src retry");
  expect(new Lines("").asked("retry")).toBe("retry");
});

test("a selection keeps its lines, whatever ends them, and is no longer than a question", () => {
  expect(asQuestion("\r\n  a\r\n    b\rc\n\n")).toBe("a\n    b\nc");
  expect(asQuestion("x\n".repeat(30_000))).toHaveLength(20_000);
});
