import { expect, test } from "vitest";
import type { Past } from "../../src/results/shelf";
import type { IndexStatus } from "../../src/protocol.gen";
import { asTyped, besideLinks, fromSidecar, inMarkdown, inRow, place, quoted, said, visible } from "../../src/shown";
import { entryRow, sessionRow } from "../../src/activity/rows";
import { headline, ifIgnored } from "../../src/questions/toasts";
import { questionOf } from "../../src/questions/waiting";
import { html } from "../../src/html";
import { explained } from "../../src/index/explanation";
import { shown } from "../../src/index/state";
import { adviceForError, adviceForNothing } from "../../src/search/advice";
import { rowOf } from "../../src/search/row";
import { whyNotOpened } from "../../src/search/unopened";
import { linesOf } from "../../src/search/excerpt";
import { adviceItems, pastItems } from "../../src/search/items";
import { Failure } from "../../src/failure";
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
  for (const shaped of ["👩\u200d💻", "👩🏽\u200d❤\ufe0f\u200d👨", "می\u200cخواهم", "क्\u200dष", "র\u200d্য"])
    expect(visible(shaped)).toBe(shaped);
  for (const hidden of [
    "a\u200db",
    "1\u200c2",
    "א\u200cב",
    "👩\u200c💻",
    "👩\u200d",
    "\u200d💻",
    "ا\u200cم",
    "क\u200cख",
  ])
    expect(visible(hidden)).toMatch(/\\u\{200[cd]\}/);
  expect(visible("👩\u200d\u200d💻")).toBe("👩\\u{200d}\\u{200d}💻");
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
  for (const { text } of [explained(answer).headline, ...explained(answer).details])
    expect(text).not.toMatch(/[\n\u001b]/);
});

/** Where strings from outside are shown, with such a string in each of them. */
const HIT = {
  path: NASTY,
  content: NASTY,
  startLine: 1,
  endLine: 1,
  score: 1,
  language: "python",
  kind: "function" as const,
  names: [NASTY],
};
const ENTRY = {
  id: 1,
  revision: 1,
  session: 1,
  agent: NASTY,
  door: "mcp" as const,
  tool: "search_code",
  workspace: "/w",
  asked: NASTY,
  started: "2026-01-02T11:00:00Z",
  state: "asking" as const,
};
const SESSION = { ...ENTRY, name: NASTY, version: NASTY, workspaces: [], since: ENTRY.started, asks: true, calls: 1 };
const QUESTION = questionOf(
  {
    type: 2,
    message: "",
    question: {
      title: `Delete the search index of ${quoted(NASTY)}?`,
      asker: quoted(NASTY),
      detail: NASTY,
      accept: "Delete index",
      decline: "Keep",
      seconds: 120,
    },
  },
  "1",
);
const PAST: Past = { asked: { subject: "code", mode: "hybrid", query: NASTY }, results: 1, at: 0 };

const PLACES: Readonly<Record<string, readonly (string | undefined)[]>> = {
  "a message": [said`The folder ${NASTY}.`.text, fromSidecar(NASTY).text],
  "a place in a message": [said`The folder ${place(NASTY)}.`.text],
  "a notification of a question": [headline(QUESTION), QUESTION.detail, ifIgnored(QUESTION)].map(besideLinks),
  "a call in Agents": Object.values(entryRow(ENTRY, 0)).flat(),
  "a client in Agents": Object.values(sessionRow({ ...SESSION, you: false }, 0)).flat(),
  "a hit in the palette": (Object.values(rowOf(HIT)) as string[]).map((text) => text.replace(/^\$\([a-z-]+\)/, "")),
  "a line of a hit": linesOf(HIT).flatMap(({ pieces }) => pieces.map(inRow)),
  "an earlier search": pastItems([PAST], [PAST.asked, { ...PAST.asked, mode: "words" }], "code").flatMap(
    ({ label, kind }) => (kind === undefined ? [label.replace(/^\$\((history|bookmark)\)/, "")] : []),
  ),
  advice: [adviceForError(new Failure("INTERNAL", NASTY)), adviceForNothing(PAST.asked)].flatMap((advice) =>
    adviceItems(advice).flatMap(({ label, detail }): (string | undefined)[] => [
      label.replace(/^\$\([a-z-]+\)/, ""),
      detail,
    ]),
  ),
  "why a file is indexed": [explained({ ...EXPLAINED, path: NASTY, lastError: NASTY })].flatMap((answer) => [
    answer.headline.text,
    ...answer.details.map(({ text }) => text),
  ]),
};

/** Where an icon's name is text like any other. */
const PLACES_OF_TEXT: typeof PLACES = {
  "the status": [html`${shown("running", { status: "ready", warning: NASTY }, NASTY, 0).says}`.text],
  "the page": [html`<p>${NASTY}</p>`.text.replaceAll(/<\/?p>/g, "")],
};

test.each(Object.entries(PLACES_OF_TEXT))("%s shows a string from outside on one line, visibly", (_, texts) => {
  expect(texts.join("")).toContain("e0041");
  for (const text of texts) expect(text).not.toMatch(/[\p{Cc}\u202e\u2028\u{e0041}]|<img/u);
});

test.each(Object.entries(PLACES))("%s shows a string from outside on one line, visibly, with no icon", (_, texts) => {
  expect(texts.join("")).toContain("e0041");
  for (const text of texts.filter((one) => one !== undefined)) {
    expect(text).not.toMatch(/[\p{Cc}\u202e\u2028\u{e0041}]|\$\(/u);
  }
});

test("a sentence quotes what it is given, in sixty characters and without Markdown", () => {
  const { text } = said`${NASTY.repeat(3)} and ${2} of **${"**bold** [a](command:x)"}**.`;
  expect(text).toMatch(/^"[^"]{1,60}" and 2 of \*\*"bold a \(command:x\)"\*\*\.$/);
});

test("a place in a sentence is whole and as it is on this machine, up to 240 characters, and no part of it is a link", () => {
  const file = "/home/someone/.config/Code/User/globalStorage/sidecar-search.sidecar/my__tools/~old#1/__init__.py";
  expect(said`${place(file)} is read.`.text).toBe(`"${file}" is read.`);
  expect(place(String.raw`C:\Users\x\$home`).text).toBe(String.raw`"C:\Users\x\$home"`);
  const { text } = place(NASTY.repeat(9));
  expect(Array.from(text)).toHaveLength(242);
  expect(text.match(/"/g)).toHaveLength(2);
  expect(text).not.toMatch(/\]\(|\$\(|:\/\/|[\p{Cc}\u202e\u2028]/u);
});

test("the whole path is told of a file that has gone, and of one that is explained", () => {
  const path = `packages/${"compiler-core/".repeat(6)}__init__.py`;
  expect(whyNotOpened(path, false, new Error()).text).toContain(`"${path}" is no longer there.`);
  expect(explained({ ...EXPLAINED, path }).headline.text).toBe(`"${path}" is indexed and up to date.`);
});

test("beside links of ours, what others chose can neither be a link nor begin one", () => {
  expect(besideLinks("[a")).not.toContain("[");
});

test("a quoted string of nothing but marks is not empty, and what somebody typed is shown with its marks", () => {
  expect(quoted("*")).toBe('"*"');
  expect(quoted("**kwargs")).toBe('"kwargs"');
  expect(asTyped("a[i] ** $(x)")).toBe('"a[i] ** $\u200b(x)"');
  expect(Array.from(asTyped("x".repeat(500)))).toHaveLength(62);
});

test("a file that has gone is told in a plain sentence with what to do, and any other error in its own", () => {
  const error = Object.assign(new Error("Unable to read file 'x'"), { name: "CodeExpectedError" });
  expect(whyNotOpened("src/a.py", false, error).text).toBe(
    'Sidecar: "src/a.py" is no longer there. It was deleted, moved or renamed after this search: search again.',
  );
  expect(whyNotOpened("src/a.py", true, error).text).toBe(
    "Sidecar: \"src/a.py\" cannot be opened. Unable to read file 'x'",
  );
});
