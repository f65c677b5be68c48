import { expect, test } from "vitest";
import { fromHitWord, highlighted, linesOf } from "../../../src/search/excerpt";
import { placeOf, rowOf } from "../../../src/search/row";
import { hit } from "../hits";

const excerpt = [
  { line: 10, pieces: ["def ", "retry", "(call):"] },
  { line: 11, pieces: ["return call()"] },
];

test("a row says what it is, where, how well it fits, and shows its lines with no sign that only an eye understands", () => {
  expect(rowOf(hit({ excerpt }))).toEqual({
    label: "$(symbol-function) retry",
    description: "src/net/retry.py:10–11  ·  0.52",
    detail: "def retry(call):  ⋯  return call()",
  });
});

test("a hit is called by the definition that it is about, with its kind, however many start in it", () => {
  const definition = { name: "call", kind: "method", container: "net.Retry", startLine: 2, endLine: 90 };
  const row = rowOf(hit({ kind: "class", names: ["A", "B", "C"], definition }));
  expect(row.label).toBe("$(symbol-method) Retry.call");
  expect(row.description).toBe("method  ·  src/net/retry.py:10–11  ·  0.52");
});

test("a hit that came without it is called by the first that starts in it, and no number follows", () => {
  expect(rowOf(hit({ kind: "class", names: ["A", "B", "C"] })).label).toBe("$(symbol-class) A");
});

test("a hit without a name is called by its file", () => {
  expect(rowOf(hit({ kind: "", names: [] })).label).toBe("$(symbol-snippet) retry.py");
});

test("with several folders each row says which is its own", () => {
  const placed = hit({ workspace: "/home/x/api" });
  const folders = new Map([[placed.workspace ?? "", "x/api"]]);
  expect(rowOf(placed, folders).description).toBe("x/api/src/net/retry.py:10–11  ·  0.52");
  expect(rowOf(placed, new Map()).description).toBe("api/src/net/retry.py:10–11  ·  0.52");
  expect(placeOf(placed)).toBe("src/net/retry.py:10–11");
});

test("code that looks like an icon stays code", () => {
  const { detail } = rowOf(hit({ excerpt: [{ line: 1, pieces: ["echo $(date)"] }] }));
  expect(detail).not.toContain("$(date)");
  expect(detail.replaceAll("\u200b", "")).toBe("echo $(date)");
});

test("a whole file has a folder for its place and no score", () => {
  const row = rowOf(hit({ kind: "file", content: "", names: ["retry.py"], startLine: 1, endLine: 1 }));
  expect(row).toEqual({ label: "$(file) retry.py", description: "src/net", detail: "" });
});

test("a hit without an excerpt shows its first two that are not blank", () => {
  const content = `\n\n  first\n\n${"x".repeat(500)}\nthird`;
  const lines = linesOf(hit({ content, startLine: 5 }));
  expect(lines.map(({ line }) => line)).toEqual([7, 9]);
  expect(lines[1]!.pieces[0]!.length).toBeLessThan(170);
});

test("places of hit words are counted in what the editor counts in", () => {
  expect(highlighted(["𝒂 = ", "retry", "(", "retry", ")"])).toEqual({
    label: "𝒂 = retry(retry)",
    highlights: [
      [5, 10],
      [11, 16],
    ],
  });
});

test("both lines have their room, and a short one leaves it to the other", () => {
  const long = [`${"x".repeat(60)} just before `, "retry", "y".repeat(60)];
  const two = rowOf(hit({ excerpt: [1, 2].map((line) => ({ line, pieces: long })) })).detail;
  expect(two.split("  ⋯  ").every((part) => part.startsWith("…just before retryy") && part.endsWith("y…"))).toBe(true);
  expect(two.length).toBeLessThan(95);
  const one = rowOf(
    hit({
      excerpt: [
        { line: 1, pieces: long },
        { line: 2, pieces: ["}"] },
      ],
    }),
  ).detail;
  expect(one.length).toBeGreaterThan(75);
});

test("in a narrow row a line begins a little before its first hit word", () => {
  expect(fromHitWord(["    return self.manager.", "retry", "(call)"])).toEqual(["…manager.", "retry", "(call)"]);
  expect(fromHitWord(["return the ", "retry", ""])).toEqual(["…the ", "retry", ""]);
  expect(fromHitWord(["def ", "retry", ""])).toEqual(["def ", "retry", ""]);
  expect(fromHitWord(["a line without any hit word"])).toEqual(["a line without any hit word"]);
});
