import { expect, test } from "vitest";
import { patternsOf } from "../../../src/search/typedPath";

const FOLDERS = new Map([
  ["/w/back", "back"],
  ["/w/front end", "front end"],
]);
const letters = (pattern: string) => ({ pattern, fuzzy: true });

test.each([
  ["client", [letters("client")]],
  [" src/net ", [letters("src/net")]],
  ["./src/net/", [letters("src/net/")]],
  ["/", [letters("/")]],
  ["*.py", [letters("*.py"), { pattern: "**/*.py" }]],
  ["/src/**/*.py", [letters("src/**/*.py"), { pattern: "src/**/*.py" }]],
  ["[id].tsx", [letters("[id].tsx"), { pattern: "**/[id].tsx" }]],
  ["{a,b}.ts", [letters("{a,b}.ts"), { pattern: "**/{a,b}.ts" }]],
  ["[[...all]", [letters("[[...all]")]],
  ["app/[id]/*", [letters("app/[id]/*"), { pattern: String.raw`app/\[id\]/*` }, { pattern: "app/[id]/*" }]],
  ["[id/*", [letters("[id/*"), { pattern: String.raw`\[id/*` }]],
  [String.raw`\[id\].tsx`, [letters(String.raw`\[id\].tsx`), { pattern: String.raw`**/\[id\].tsx` }]],
])("%s is looked for as letters first, then as the patterns that it can be", (typed, patterns) => {
  expect(patternsOf(typed)).toEqual(patterns);
});

test("a path that begins with an open folder's name is looked for in that folder first", () => {
  const workspace = "/w/front end";
  expect(patternsOf("front end/a.ts", FOLDERS)).toEqual([{ ...letters("a.ts"), workspace }, letters("front end/a.ts")]);
  expect(patternsOf("back/", FOLDERS)).toEqual([{ pattern: "**", workspace: "/w/back" }, letters("back/")]);
  expect(patternsOf("backup/a", FOLDERS)).toEqual([letters("backup/a")]);
});
