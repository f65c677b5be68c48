import { expect, test } from "vitest";
import { explained } from "../../../src/index/explanation";
import type { PathExplanation } from "../../../src/protocol.gen";

const INDEXED: PathExplanation = {
  path: "src/a.py",
  indexed: true,
  rule: "indexed",
  detail: "",
  exists: true,
  inIndex: true,
  stale: false,
  chunks: 4,
  embedded: 4,
  language: "python",
};

test.each<[string, Partial<PathExplanation>, boolean]>([
  ["src/a.py is indexed and up to date.", {}, false],
  ["src/a.py is indexed, but has changed since.", { stale: true }, true],
  ["src/a.py is not indexed yet.", { inIndex: false, stale: true, chunks: 0, embedded: 0 }, true],
  ["src/a.py is not indexed.", { inIndex: false, indexed: false, rule: "gitignore", detail: ".gitignore:3" }, false],
  ["src/a.py is still in the index and will be removed.", { indexed: false, rule: "config-exclude" }, true],
  ["src/a.py does not exist.", { inIndex: false, exists: false, indexed: false, rule: "no-such-file" }, false],
])("%s", (sentence, facts, wrong) => {
  const { headline, wrong: isWrong } = explained({ ...INDEXED, ...facts });
  expect(headline.text).toBe(sentence.replace("src/a.py", '"src/a.py"'));
  expect(isWrong).toBe(wrong);
});

test("the rule that keeps a file out is said with what in particular said so", () => {
  const { details } = explained({
    ...INDEXED,
    inIndex: false,
    indexed: false,
    rule: "gitignore",
    detail: ".gitignore:3",
  });
  expect(details[0]?.text).toMatch(/^Git ignores it\. .*\(\.gitignore:3\)$/);
  expect(explained({ ...INDEXED, inIndex: false, indexed: false, rule: "new-rule" }).details[0]?.text).toBe(
    "Rule: new-rule.",
  );
});

test("how it was read, what is missing and the last error are said", () => {
  const { details } = explained({ ...INDEXED, embedded: 1, lastError: "It is not UTF-8." });
  expect(details.map(({ text }) => text)).toEqual([
    "Read as python, 4 chunks, 1 of them found by meaning so far.",
    "Last error: It is not UTF-8.",
  ]);
});
