import { expect, test } from "vitest";
import { cellOf } from "../../../src/search/cells";

const CELLS = ["import os", "def count(sea):\r\n    return len(sea)", "count(1)\ncount(2)"];

test("a passage is found in the cell that has it, whatever ends its lines", () => {
  expect(cellOf(CELLS, "def count(sea):\n    return len(sea)\n")).toBe(1);
  expect(cellOf(CELLS, "count(2)")).toBe(2);
});

test("a passage of which only the beginning is still there is found by it, one that has gone is not", () => {
  expect(cellOf(CELLS, "count(1)\ncount(99)")).toBe(2);
  expect(cellOf(CELLS, "def weigh():")).toBeUndefined();
  expect(cellOf(CELLS, "")).toBeUndefined();
  expect(cellOf([], "x")).toBeUndefined();
});
