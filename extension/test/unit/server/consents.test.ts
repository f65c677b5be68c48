import { expect, test } from "vitest";
import { Consents } from "../../../src/server/consents";

const actions = [{ title: "Create index" }, { title: "Cancel" }];
const own = { type: 3, message: '"Editor" wants to create the index.', own: "/w/api", actions };

test("the question that one's own command causes is answered, once and while the command runs", async () => {
  const consents = new Consents();
  expect(consents.answerTo(own)).toBeUndefined();
  await consents.during("/w/api", async () => {
    await Promise.resolve();
    expect(consents.answerTo(own)).toEqual({ title: "Create index" });
    expect(consents.answerTo(own)).toBeUndefined();
  });
  expect(consents.answerTo(own)).toBeUndefined();
});

test("a consent that was not needed does not last", async () => {
  const consents = new Consents();
  await expect(consents.during("/w/api", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(consents.answerTo(own)).toBeUndefined();
});

test.each([
  ["what loses something", { ...own, type: 2 }],
  ["what an agent wants, whatever it calls itself", { type: 3, message: own.message, actions }],
  ["what is about another folder", { ...own, own: "/w/api2" }],
])("%s is asked all the same", async (_, asked) => {
  const consents = new Consents();
  await consents.during("/w/api", () => {
    expect(consents.answerTo(asked)).toBeUndefined();
    return Promise.resolve();
  });
});
