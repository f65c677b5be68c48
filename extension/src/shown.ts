// Strings that are not ours inside texts that are: names, paths, models, what failed. They are data, never markup.
// Every text for a person is made here: `said` is the sentence for a message (`tell.ts`), the others are for rows.

const MOST = 60;
/** For a path: enough to find the file (docs/decisions/0035). */
const MOST_OF_PLACE = 240;
/** Invisible characters: control characters, marks that reorder text or have no width, tags, halves of characters. */
const HIDDEN = String.raw`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u{E0000}-\u{E0FFF}]`;
/** Joiners that shape what can be seen; `sidecar/shown.py` says where and why. They are not hidden. */
const PICTURES = String.raw`\u2190-\u2bff\u{1f000}-\u{1faff}`;
const ARABIC = String.raw`\u0620-\u064a\u066e-\u06d3\u06d5\u06fa-\u06ff\u0750-\u077f\u08a0-\u08c9`;
const JOINING =
  String.raw`\u0620\u0626\u0628\u062a-\u062e\u0633-\u063f\u0641-\u0647\u0649\u064a\u066e\u066f\u0678-\u0687\u069a-\u06bf\u06c1\u06c2` +
  String.raw`\u06cc\u06ce\u06d0\u06d1\u06fa-\u06fc\u06ff\u0750-\u0758\u075c-\u076a`;
const INDIC = String.raw`\u0900-\u0dff`;
const VIRAMA = String.raw`\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca`;
const SHAPING = [
  String.raw`(?<=[${JOINING}])[\u200c\u200d](?=[${ARABIC}])`,
  String.raw`(?<=[${VIRAMA}])[\u200c\u200d](?=[${INDIC}])`,
  String.raw`(?<=[${INDIC}])[\u200c\u200d](?=[${VIRAMA}])`,
  String.raw`(?<=[${PICTURES}\ufe0f])\u200d(?=[${PICTURES}])`,
].join("|");
const INVISIBLE = new RegExp(`(?!${SHAPING})${HIDDEN}`, "gu");
const MARKUP = /[\\`*_[\]<>#!|~&$]|:(?=\/\/)|^[-=+]/g;
/** Signs from which a message or label of the editor makes a link, an icon or a style. A `_` inside a word is not one. */
const MARKS = /[*~`#|<>$\\![\]]+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])|:(?=\/\/)/gu;

/** Makes every character visible, on one line. */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (hidden) => `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`);
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

/** A text of several lines, with spaces in place of their ends and of tabs. */
export function oneLine(text: string): string {
  return text.replace(/ *[\t\r\n][ \t\r\n]*/g, " ").trim();
}

/** For a row that also has words of ours: what the person here has asked, short and quoted, with every mark. */
export function asTyped(text: string): string {
  return `"${inRow(short(visible(oneLine(text))))}"`;
}

/** For a title in which quotation marks of ours are around it: what the person here has asked, short and visible. */
export function inTitle(text: string): string {
  return short(visible(oneLine(text)));
}

function short(text: string, most = MOST): string {
  const letters = Array.from(text);
  if (letters.length <= most) return text;
  return [...letters.slice(0, most / 2 - 1), "…", ...letters.slice(-most / 2)].join("");
}

/** A sentence of ours, as a message may show it. */
export class Sentence {
  constructor(readonly text: string) {}
}

/** For a sentence: a path, quoted, with every mark, and whole unless it is very long. No part of it becomes a link. */
export function place(path: string): Sentence {
  const plain = fromSidecar(path)
    .text.replace(/:(?=\/\/)/g, ": ")
    .replaceAll('"', "'");
  return new Sentence(`"${short(plain, MOST_OF_PLACE)}"`);
}

/** Quotes every string that it is given; a `Sentence` and a number stay as they are. A path is given as a `place`. */
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
