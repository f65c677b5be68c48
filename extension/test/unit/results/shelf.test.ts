import { expect, test } from "vitest";
import { MOST_PAST, Shelf, type Past } from "../../../src/results/shelf";
import type { Asked } from "../../../src/search/find";

const asked = (query: string): Asked => ({ subject: "code", query, mode: "hybrid" });

test("the latest search is first, and one that is made again moves there with its new count", () => {
  const saved: (readonly Past[])[] = [];
  let now = 0;
  const shelf = new Shelf(
    [],
    (past) => saved.push(past),
    () => ++now,
  );
  shelf.note(asked("a"), 1);
  shelf.note(asked("b"), 2);
  shelf.note(asked("a"), 3);
  expect(shelf.history.map(({ asked: { query }, results, at }) => [query, results, at])).toEqual([
    ["a", 3, 3],
    ["b", 2, 2],
  ]);
  expect(saved.at(-1)).toBe(shelf.history);
});

test("the same words asked in another way are another search", () => {
  const shelf = new Shelf([], () => {});
  shelf.note(asked("a"), 1);
  shelf.note({ ...asked("a"), mode: "words" }, 1);
  expect(shelf.history).toHaveLength(2);
});

test("the oldest searches are forgotten, and any can be", () => {
  const shelf = new Shelf([], () => {});
  for (let i = 0; i < MOST_PAST + 5; i++) shelf.note(asked(`q${i}`), 1);
  expect(shelf.history).toHaveLength(MOST_PAST);
  shelf.forget(asked(`q${MOST_PAST}`));
  expect(shelf.history).toHaveLength(MOST_PAST - 1);
  shelf.forget();
  expect(shelf.history).toEqual([]);
});

test("whoever listens hears of every change until they stop", () => {
  const shelf = new Shelf([], () => {});
  let heard = 0;
  const stop = shelf.onChange(() => heard++);
  shelf.keep({ asked: asked("a"), found: { hits: [] } });
  shelf.note(asked("a"), 0);
  stop();
  shelf.forget();
  expect(heard).toBe(2);
});
