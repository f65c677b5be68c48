import { expect, test } from "vitest";
import { filterText, filtered, foldersOf, groupsOf, languagesOf, withChoice } from "../../../src/results/groups";
import { childrenOf, hitsOf, type Node } from "../../../src/results/nodes";
import { hit } from "../hits";

const hits = [
  hit({ path: "src/b.py", startLine: 30 }),
  hit({ path: "src/net/a.ts", language: "typescript" }),
  hit({ path: "src/b.py", startLine: 5 }),
  hit({ path: "c.py" }),
];

test("files stand in the order of their best hits, and their hits in the order of lines", () => {
  expect(groupsOf(hits).map((group) => [group.path, group.hits.map(({ startLine }) => startLine)])).toEqual([
    ["src/b.py", [5, 30]],
    ["src/net/a.ts", [10]],
    ["c.py", [10]],
  ]);
});

test("files of one name in two folders are two files", () => {
  expect(groupsOf([hit({ workspace: "/a" }), hit({ workspace: "/b" })])).toHaveLength(2);
});

test("a filter keeps one language, one folder with what is below it, or both", () => {
  expect(filtered(hits, { language: "typescript" }).map(({ path }) => path)).toEqual(["src/net/a.ts"]);
  expect(filtered(hits, { folder: "src" })).toHaveLength(3);
  expect(filtered(hits, { folder: "src", language: "python" })).toHaveLength(2);
  expect(filtered([hit({ path: "srcs/x.py" })], { folder: "src" })).toEqual([]);
  expect(filterText({ folder: "src", language: "python" })).toBe("python, src/");
});

test("choices are counted, and a folder that holds everything is none", () => {
  expect(languagesOf(hits)).toEqual([
    { value: "python", hits: 3 },
    { value: "typescript", hits: 1 },
  ]);
  expect(foldersOf(hits).map(({ value }) => value)).toEqual(["src", "src/net"]);
  expect(foldersOf(hits.slice(0, 3)).map(({ value }) => value)).toEqual(["src/net"]);
});

test("choosing changes one part of a filter", () => {
  expect(withChoice({ folder: "src" }, "language", "python")).toEqual({ folder: "src", language: "python" });
  expect(withChoice({ folder: "src", language: "python" }, "language", undefined)).toEqual({ folder: "src" });
});

test("below a hit stand its further lines and why it was found, in shares, and what counts against it", () => {
  const found = hit({
    score: 0.5,
    shares: { name: 60, meaning: 40 },
    why: [
      "its name or a folder's contains the query's words (60 %)",
      "it is close in meaning to the query (40 %)",
      "it is a test (counts against it)",
    ],
    excerpt: [
      { line: 10, pieces: ["a"] },
      { line: 12, pieces: ["b"] },
    ],
  });
  const file: Node = { type: "file", group: groupsOf([found])[0]! };
  const [row] = childrenOf(file);
  const [line, why] = childrenOf(row!);
  expect(line).toMatchObject({ type: "line", line: { line: 12 } });
  expect(childrenOf(why!)).toMatchObject([
    { reason: { says: "Its name or a folder's contains the query's words", share: "60 %" } },
    { reason: { says: "It is close in meaning to the query", share: "40 %" } },
    { reason: { says: "It is a test", share: undefined } },
  ]);
  expect(hitsOf([file, row!, line!, why!])).toEqual([found]);
});
