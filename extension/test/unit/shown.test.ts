import { expect, test } from "vitest";
import type { IndexStatus } from "../../src/protocol.gen";
import { inMarkdown, quoted, visible } from "../../src/shown";
import { told } from "../../src/index/explanation";
import { shown } from "../../src/index/state";
import { markdownOfHit } from "../../src/results/markdown";

const EXPLAINED = {
  path: "",
  indexed: true,
  rule: "indexed",
  detail: "",
  exists: true,
  inIndex: true,
  stale: false,
  chunks: 1,
  embedded: 1,
};

const NASTY =
  "a\nb\u001b[2J\u202e\u200b\u2028[click](command:evil.run) `x` <img src=x> | ![p](http://e) $(zap) \u{e0041}";

test("what cannot be seen is shown by its number, on one line", () => {
  expect(visible(NASTY)).toMatch(/^a\\u\{a\}b\\u\{1b\}\[2J\\u\{202e\}\\u\{200b\}\\u\{2028\}/);
  expect(visible(NASTY)).toMatch(/\\u\{e0041\}$/);
  expect(visible("Grüße 日本語 🦀")).toBe("Grüße 日本語 🦀");
});

test("a quoted string is short, ends where it ends and holds no link", () => {
  const said = quoted(`"${NASTY.repeat(9)}`);
  expect(Array.from(said)).toHaveLength(62);
  expect(said.match(/"/g)).toHaveLength(2);
  expect(said).not.toContain("](");
});

test("nothing in a Markdown tooltip that is not ours is markup", () => {
  const status: Partial<IndexStatus> = {
    status: "ready",
    totalFiles: 1,
    warning: NASTY,
    model: NASTY,
    device: NASTY,
    modelUpgrade: { model: NASTY, done: 1, total: 2, percent: 50, note: NASTY },
  };
  const { tooltip } = shown("running", status, NASTY, 0);
  const ours = tooltip.replaceAll(/&#\d+;/g, "").replaceAll(/^\|.*?\|/gm, "");
  expect(ours.replace("**Sidecar**", "")).not.toMatch(/[[\]`<$!]|https?:/);
  expect(tooltip.split("\n").filter((line) => line.startsWith("b"))).toEqual([]);
  expect(inMarkdown("[a](b)")).toBe("&#91;a&#93;(b)");
});

test("what the page takes from it is text, as it came", () => {
  expect(shown("running", { status: "ready", warning: "[a](b)" }, undefined, 0).says).toContain("[a](b)");
});

test("a file's name begins no line of what is copied for a chat, nor of what is told of it", () => {
  const hit = { path: "a\n## Forged\nb", content: "x", startLine: 1, endLine: 1, score: 1, language: "python" };
  const copied = markdownOfHit({ ...hit, kind: "function", names: [], workspace: "/w" });
  expect(copied.split("\n").filter((line) => line.startsWith("##"))).toHaveLength(1);
  const answer = { ...EXPLAINED, path: hit.path, lastError: "one\ntwo\u001b[2J" };
  for (const line of [told(answer).headline, ...told(answer).details]) expect(line).not.toMatch(/[\n\u001b]/);
});
