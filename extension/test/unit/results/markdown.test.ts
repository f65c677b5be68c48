import { expect, test } from "vitest";
import { markdownOfHits } from "../../../src/results/markdown";
import { whyInOneLine } from "../../../src/results/why";
import type { Asked } from "../../../src/search/find";
import { hit } from "../hits";

const asked: Asked = { subject: "code", query: "retry", mode: "hybrid" };

test("results become headings with places and fenced code", () => {
  expect(markdownOfHits(asked, [hit()])).toBe(
    "## “retry”, words and meaning: 1 result\n\n" +
      "### src/net/retry.py:10-11 (score 0.52)\n\n```python\ndef retry(call):\n    return call()\n```\n",
  );
});

test("code that holds a fence is fenced by a longer one", () => {
  const text = markdownOfHits(asked, [hit({ content: "````\nx\n````", language: "markdown" })]);
  expect(text).toContain("`````markdown\n````\nx\n````\n`````");
});

test("what is amiss with the answer is told", () => {
  expect(markdownOfHits(asked, [hit(), hit()], "Partial: 3 of 9.")).toContain("2 results\n\n> Partial: 3 of 9.\n");
});

test("whole files become a list", () => {
  const file = (path: string) => hit({ kind: "file", path, content: "" });
  expect(markdownOfHits({ ...asked, subject: "path" }, [file("a.py"), file("b.py")])).toBe(
    "## Paths with “retry”: 2 results\n\n- a.py\n- b.py\n",
  );
});

test("why a hit was found is one line that adds up", () => {
  expect(whyInOneLine(hit({ score: 0.5, shares: { text: 50, meaning: 30, name: 20 } }))).toBe(
    "0.50: text 50 %, meaning 30 %, name 20 %",
  );
  expect(whyInOneLine(hit({ score: 0.9 }))).toBe("0.90: how close it is in meaning");
});

test("where several folders are open, each path begins with its own, also of folders that share a name", () => {
  const folders = new Map([
    ["/x/a/app", "a/app"],
    ["/x/b/app", "b/app"],
  ]);
  const one = hit({ path: "main.py", workspace: "/x/a/app" });
  const other = hit({ path: "main.py", workspace: "/x/b/app", kind: "file" });
  expect(markdownOfHits(asked, [one, other], undefined, folders)).toContain("### a/app/main.py:10-11 (score 0.52)");
  expect(markdownOfHits(asked, [one, other], undefined, folders)).toContain("- b/app/main.py\n");
});
