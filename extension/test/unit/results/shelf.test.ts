import { expect, test } from "vitest";
import { MOST_PAST, Shelf, type Lasting } from "../../../src/results/shelf";
import type { Asked } from "../../../src/search/find";
import type { Shared } from "../../../src/sharedFile";

/** As two windows have it that look at one file. */
class Held implements Shared<Lasting> {
  value: Lasting = { past: [], saved: [] };
  change(work: (present: Lasting) => Lasting): boolean {
    this.value = work(this.value);
    return true;
  }
}

const asked = (query: string): Asked => ({ subject: "code", query, mode: "hybrid" });

test("the latest search is first, and one that is made again moves there with its new count", () => {
  let now = 0;
  const held = new Held();
  const shelf = new Shelf(held, () => ++now);
  shelf.note(asked("a"), 1);
  shelf.note(asked("b"), 2);
  shelf.note(asked("a"), 3);
  expect(shelf.history.map(({ asked: { query }, results, at }) => [query, results, at])).toEqual([
    ["a", 3, 3],
    ["b", 2, 2],
  ]);
  expect(held.value.past).toBe(shelf.history);
});

test("the same words asked in another way are another search", () => {
  const shelf = new Shelf(new Held());
  shelf.note(asked("a"), 1);
  shelf.note({ ...asked("a"), mode: "words" }, 1);
  expect(shelf.history).toHaveLength(2);
});

test("the oldest searches are forgotten, and any can be", () => {
  const shelf = new Shelf(new Held());
  for (let i = 0; i < MOST_PAST + 5; i++) shelf.note(asked(`q${i}`), 1);
  expect(shelf.history).toHaveLength(MOST_PAST);
  shelf.forget(asked(`q${MOST_PAST}`));
  expect(shelf.history).toHaveLength(MOST_PAST - 1);
  shelf.forget();
  expect(shelf.history).toEqual([]);
});

test("whoever listens hears of every change until they stop", () => {
  const shelf = new Shelf(new Held());
  let heard = 0;
  const stop = shelf.onChange(() => heard++);
  shelf.keep({ asked: asked("a"), found: { hits: [] } });
  shelf.note(asked("a"), 0);
  stop();
  shelf.forget();
  expect(heard).toBe(2);
});

test("a question is saved, latest first, until it is saved again", () => {
  const held = new Held();
  const shelf = new Shelf(held);
  for (const query of ["a", "b", "c"]) shelf.toggleSaved(asked(query));
  shelf.toggleSaved(asked("b"));
  expect(shelf.saved.map(({ query }) => query)).toEqual(["c", "a"]);
  shelf.forget();
  expect(held.value).toEqual({ past: [], saved: shelf.saved });
});
