import { expect, test } from "vitest";
import { filterText, finished, fitting, isFiltered, understood, unfinished } from "../../../src/search/filters";
import { pathOfFolder } from "../../../src/search/typedPath";

test("filters and exact texts are taken out of the words", () => {
  expect(understood('how are lang:python routes kind:method,class matched "path = " ')).toEqual({
    text: "how are routes matched path =",
    languages: ["python"],
    paths: [],
    workspaces: [],
    kinds: ["method", "class"],
    exact: ["path = "],
  });
});

test("words without filters stay as they are", () => {
  for (const typed of ["std::lang::path", "xlang:python", "http://path:80/", "a kind of magic"]) {
    expect(isFiltered(understood(typed))).toBe(false);
    expect(understood(typed).text).toBe(typed);
  }
});

const PASTED = `Traceback: File "src/app.py", line 3, in run path:/tmp/x kind:fatal ${'raise KeyError("name") '.repeat(30)}end`;

test("a long text that was pasted is one question, quotation marks and all", () => {
  expect(understood(PASTED)).toEqual({ text: PASTED, languages: [], paths: [], workspaces: [], kinds: [], exact: [] });
  expect(understood(`"${"x".repeat(300)}"`).exact).toEqual([]);
});

test("a text of several lines keeps them, whatever its length, and its quotation marks are its own", () => {
  const short = 'Traceback (most recent call last):\n  File "app.py", line 3, in run\n    go(path:x)\nKeyError: "name"';
  expect(understood(`  ${short}\n\n`)).toMatchObject({ text: short, exact: [], paths: [] });
  const long = PASTED.replaceAll(" raise", "\n    raise");
  expect(understood(`lang:python ${long}`)).toMatchObject({ text: long, languages: ["python"], exact: [] });
});

test("filters before and after a long text count", () => {
  const { text, paths, languages } = understood(`path:"my folder/net" ${PASTED} lang:python`);
  expect([text, paths, languages]).toEqual([PASTED, ["my folder/net", "my folder/net/**"], ["python"]]);
});

test("long filters make no long text", () => {
  const folder = "services/".repeat(30);
  expect(understood(`path:${folder} retry "with backoff"`)).toMatchObject({
    text: "retry with backoff",
    exact: ["with backoff"],
  });
});

test("of more exact texts than a search takes, none is one", () => {
  expect(understood('"a" '.repeat(30)).exact).toEqual([]);
});

test.each([
  ["path:src/net", ["src/net", "src/net/**"]],
  ["path:src/", ["**/src", "**/src/**"]],
  ["path:./src/", ["src", "src/**"]],
  ["path:*.py", ["**/*.py"]],
  ["path:src/**/*.py", ["src/**/*.py"]],
  ['path:"my folder/a"', ["my folder/a", "my folder/a/**"]],
  ["path:app/[id]", [String.raw`app/\[id\]`, String.raw`app/\[id\]/**`, "app/[id]", "app/[id]/**"]],
  ["path:[id]/*.tsx", [String.raw`\[id\]/*.tsx`, "[id]/*.tsx"]],
  ["path:./{x", [String.raw`\{x`, String.raw`\{x/**`]],
  ["path:[[...all]].tsx", [String.raw`**/\[\[...all\]\].tsx`, String.raw`**/\[\[...all\]\].tsx/**`]],
  ["path:/", []],
])("%s is the globs %j", (typed, globs) => {
  const { paths } = understood(`${typed} retry`);
  expect(paths.slice(0, globs.length)).toEqual(globs);
});

test.each([
  ["services", undefined],
  ["app/[id]", "web"],
  ["a*b/{x}", undefined],
])("the filter for the folder %s (of %s) means that folder alone", (path, root) => {
  const folders = root === undefined ? undefined : new Map([["/w", root]]);
  const { paths, workspaces } = understood(`path:${pathOfFolder(path, root)} retry`, folders);
  const escaped = path.replace(/[*[\]{}]/g, String.raw`\$&`);
  expect(paths).toEqual([escaped, `${escaped}/**`]);
  expect(workspaces).toEqual(root === undefined ? [] : ["/w"]);
});

test("a filter without a value, or with a quotation mark alone, excludes nothing", () => {
  for (const typed of ["lang: retry", "retry path:", 'retry "', 'retry ""', 'kind:"" retry'])
    expect(isFiltered(understood(typed))).toBe(false);
});

test("the filter at the end may still grow, and is finished with a space behind it", () => {
  const part = unfinished("retry lang:py")!;
  expect(part).toEqual({ name: "lang", value: "py", before: "retry " });
  expect(finished(part, "python")).toBe("retry lang:python ");
  expect(unfinished("lang:py ")).toBeUndefined();
  expect(unfinished('path:"my fo')).toEqual({ name: "path", value: "my fo", before: "" });
  expect(filterText("path", "my folder")).toBe('path:"my folder"');
});

test("values fit that begin alike in any case, and none where one stands there in full", () => {
  expect(fitting(["python", "php", "ruby"], "P")).toEqual(["python", "php"]);
  expect(fitting(["c", "cpp"], "c")).toEqual([]);
  expect(fitting(["python"], "")).toEqual(["python"]);
});
