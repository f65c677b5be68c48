import { expect, test } from "vitest";
import { filterText, finished, fitting, isFiltered, understood, unfinished } from "../../../src/search/filters";

test("filters and exact texts are taken out of the words", () => {
  expect(understood('how are lang:python routes kind:method,class matched "path = " ')).toEqual({
    text: "how are routes matched path =",
    languages: ["python"],
    paths: [],
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

test.each([
  ["path:src/net", ["src/net", "src/net/**"]],
  ["path:./src/", ["src", "src/**", "**/src", "**/src/**"]],
  ["path:*.py", ["**/*.py"]],
  ["path:src/**/*.py", ["src/**/*.py"]],
  ['path:"my folder/a"', ["my folder/a", "my folder/a/**"]],
  ["path:/", []],
])("%s is the globs %j", (typed, globs) => {
  expect(understood(`${typed} retry`).paths).toEqual(globs);
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
