import { expect, test } from "vitest";
import { MOST_PAST, Shelf, type Lasting } from "../../../src/results/shelf";
import type { Asked } from "../../../src/search/find";

const NOTHING: Lasting = { past: [], saved: [] };
const asked = (query: string): Asked => ({ subject: "code", query, mode: "hybrid" });

test("the latest search is first, and one that is made again moves there with its new count", () => {
  const kept: Lasting[] = [];
  let now = 0;
  const shelf = new Shelf(
    NOTHING,
    (lasting) => kept.push(lasting),
    () => ++now,
  );
  shelf.note(asked("a"), 1);
  shelf.note(asked("b"), 2);
  shelf.note(asked("a"), 3);
  expect(shelf.history.map(({ asked: { query }, results, at }) => [query, results, at])).toEqual([
    ["a", 3, 3],
    ["b", 2, 2],
  ]);
  expect(kept.at(-1)!.past).toBe(shelf.history);
});

test("the same words asked in another way are another search", () => {
  const shelf = new Shelf(NOTHING, () => {});
  shelf.note(asked("a"), 1);
  shelf.note({ ...asked("a"), mode: "words" }, 1);
  expect(shelf.history).toHaveLength(2);
});

test("the oldest searches are forgotten, and any can be", () => {
  const shelf = new Shelf(NOTHING, () => {});
  for (let i = 0; i < MOST_PAST + 5; i++) shelf.note(asked(`q${i}`), 1);
  expect(shelf.history).toHaveLength(MOST_PAST);
  shelf.forget(asked(`q${MOST_PAST}`));
  expect(shelf.history).toHaveLength(MOST_PAST - 1);
  shelf.forget();
  expect(shelf.history).toEqual([]);
});

test("whoever listens hears of every change until they stop", () => {
  const shelf = new Shelf(NOTHING, () => {});
  let heard = 0;
  const stop = shelf.onChange(() => heard++);
  shelf.keep({ asked: asked("a"), found: { hits: [] } });
  shelf.note(asked("a"), 0);
  stop();
  shelf.forget();
  expect(heard).toBe(2);
});

test("a question is saved, latest first, until it is saved again", () => {
  const kept: Lasting[] = [];
  const shelf = new Shelf(NOTHING, (lasting) => kept.push(lasting));
  for (const query of ["a", "b", "c"]) shelf.toggleSaved(asked(query));
  shelf.toggleSaved(asked("b"));
  expect(shelf.saved.map(({ query }) => query)).toEqual(["c", "a"]);
  shelf.forget();
  expect(kept.at(-1)).toEqual({ past: [], saved: shelf.saved });
});
