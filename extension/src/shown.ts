// Strings that are not ours inside texts that are: names, paths, models, what failed. They are data, never markup.
// Every text for a person is made here: `said` is the sentence for a message (`tell.ts`), the others are for rows.

const MOST = 60;
/** Invisible characters: control characters, marks that reorder text or have no width, tags, halves of characters. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u{E0000}-\u{E0FFF}]/gu;
const MARKUP = /[\\`*_[\]<>#!|~&$]|:(?=\/\/)|^[-=+]/g;
/** Signs from which a message or label of the editor makes a link, an icon or a style. A `_` inside a word is not one. */
const MARKS = /[*~`#|<>$\\![\]]+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])|:(?=\/\/)/gu;

/** Makes every character visible, on one line. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (hidden) => `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`);
}

/** For a Markdown tooltip: the text as it is, whatever Markdown would make of it. */
export function inMarkdown(text: string): string {
  return visible(text).replace(MARKUP, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** For a row that holds nothing else: visible, and no part of it an icon. */
export function inRow(text: string): string {
  return visible(text).replaceAll("$(", "$\u200b(");
}

/** For a sentence, or a row that also has words of ours: short and quoted. Marks alone, such as `*`, are kept. */
export function quoted(text: string): string {
  const plain = text.replace(MARKS, " ").replace(/ +/g, " ").trim();
  return `"${short(visible(plain === "" ? text : plain).replaceAll('"', "'"))}"`;
}

/** For a row that also has words of ours: what the person here has typed, short and quoted, with every mark. */
export function asTyped(text: string): string {
  return `"${inRow(short(visible(text)))}"`;
}

function short(text: string): string {
  const letters = Array.from(text);
  if (letters.length <= MOST) return text;
  return [...letters.slice(0, MOST / 2 - 1), "…", ...letters.slice(-MOST / 2)].join("");
}

/** A sentence of ours, as a message may show it. */
export class Sentence {
  constructor(readonly text: string) {}
}

/** Quotes every string that it is given; a `Sentence` and a number stay as they are. */
export function said(parts: TemplateStringsArray, ...values: (string | number | Sentence)[]): Sentence {
  return new Sentence(parts.map((part, at) => part + (at < values.length ? textOf(values[at]) : "")).join(""));
}

/** A text of the sidecar's, in which foreign text is already quoted. No part of it becomes a link or an icon. */
export function fromSidecar(text: string): Sentence {
  return new Sentence(inRow(text).replaceAll("](", "] ("));
}

/** Like `fromSidecar`, for text beside links of ours, whose title could otherwise begin in it. */
export function besideLinks(text: string): string {
  return inRow(text).replaceAll("[", "(").replaceAll("]", ")");
}

function textOf(value: string | number | Sentence | undefined): string {
  if (value instanceof Sentence) return value.text;
  return typeof value === "string" ? quoted(value) : String(value ?? "");
}
