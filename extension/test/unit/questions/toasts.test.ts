import { expect, test } from "vitest";
import { textWithLinks } from "../../../src/questions/toasts";

test("a question and its links come last, because a narrow window cuts off the beginning", () => {
  const question = {
    id: "7",
    title: 'Delete the search index of "api"?',
    asker: '"robot"',
    detail: "It cannot be undone.",
    yes: "Delete index",
    no: "Keep",
    seconds: 120,
  };
  expect(textWithLinks(question).replace(/\(command:[^)]*\)/g, "")).toBe(
    "If you choose Delete index: It cannot be undone. No answer within 2 min means Keep. So does Cancel. " +
      'Delete the search index of "api"? Asked by "robot". [Keep]  |  [Delete index]',
  );
  expect(textWithLinks({ ...question, detail: "" })).toMatch(/^No answer within/);
});
