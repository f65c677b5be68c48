import { expect, test } from "vitest";
import { textOfHits } from "../../../src/results/text";
import { hit } from "../hits";

test("results as a text have files, numbered lines, and a colon where a line shows why", () => {
  const excerpt = [{ line: 11, pieces: ["return ", "call", "()"] }];
  expect(textOfHits("“retry”: 1 result", "Partial: 3 of 9.", [hit({ excerpt })])).toBe(
    "# “retry”: 1 result\n# Partial: 3 of 9.\n\nsrc/net/retry.py:\n  10  def retry(call):\n  11:     return call()\n",
  );
});

test("with several folders each file says which is its own, and hits of one file stand apart", () => {
  const hits = [hit({ workspace: "/home/x/api" }), hit({ workspace: "/home/x/api", startLine: 30, content: "x" })];
  const text = textOfHits("two", undefined, hits, new Map([["/home/x/api", "The API"]]));
  expect(text).toContain("The API • src/net/retry.py:\n");
  expect(text).toContain("return call()\n\n  ");
});

test("what a file holds cannot look like another file or another line", () => {
  const text = textOfHits("one", undefined, [hit({ path: "a\nb.py", content: "evil.py:\r\n  12: x", endLine: 2 })]);
  expect(text).toContain("a\\u{a}b.py:\n");
  expect(text).not.toMatch(/^evil/m);
});

test("where two folders share a name, a file is given by its whole path, which the editor still finds", () => {
  const hits = ["/home/x/app", "/home/y/app"].map((workspace) => hit({ workspace }));
  const text = textOfHits(
    "two",
    undefined,
    hits,
    new Map([
      ["/home/x/app", "x/app"],
      ["/home/y/app", "y/app"],
    ]),
  );
  expect(text).toContain("\n/home/x/app/src/net/retry.py:\n");
  expect(text).toContain("\n/home/y/app/src/net/retry.py:\n");
});
