// The table of the 45 situations names tests that exist.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";

const CHECKOUT = join(import.meta.dirname, "../../..");
const E2E = join(CHECKOUT, "extension/test/e2e");

/** The text of each file of tests, by its name. */
function sources(): Map<string, string> {
  const unit = join(CHECKOUT, "extension/test/unit");
  const folders = [E2E, join(CHECKOUT, "tests/surfaces"), unit, ...readdirSync(unit).map((name) => join(unit, name))];
  const files = folders
    .filter((folder) => statSync(folder).isDirectory())
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((name) => /\.(spec|test)\.m?[tj]s$|test_\w+\.py$/.test(name));
  return new Map(files.map((file) => [basename(file), readFileSync(file, "utf8")]));
}

/** The rows' last columns, each as pairs of a file's name and the title of a test in it. */
function named(): [string, string][][] {
  const table = readFileSync(join(E2E, "SITUATIONS.md"), "utf8");
  const rows = table.split("\n").filter((line) => /^\| \d+ +\|/.test(line));
  return rows.map((row) => {
    const last = row.slice(row.lastIndexOf("| `"));
    return [...last.matchAll(/`([^`]+)`: ((?:"(?:[^"\\]|\\.)*"(?:, )?)+)/g)].flatMap(([, file = "", titles = ""]) =>
      [...titles.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, title = ""]): [string, string] => [
        basename(file),
        title.replaceAll('\\"', '"'),
      ]),
    );
  });
}

test("every situation names a test, and every test that is named exists", () => {
  const [all, rows] = [sources(), named()];
  expect(rows).toHaveLength(45);
  for (const tests of rows) expect(tests).not.toEqual([]);
  const missing = rows.flat().filter(([file, title]) => {
    const wanted = file.endsWith(".py") ? `def test_${title.replaceAll(" ", "_")}(` : title;
    return !all.get(file)?.includes(wanted);
  });
  expect(missing).toEqual([]);
});
