// Strings that are not ours inside texts that are: names, paths, models, what failed. They are data, never markup.

const MOST = 60;
/** What has no shape of its own: control characters, marks that reorder or have no width, tags, halves of characters. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u{E0000}-\u{E0FFF}]/gu;
const MARKUP = /[\\`*_[\]<>#!|~&$]|:(?=\/\/)|^[-=+]/g;

/** Everything can be seen, on one line. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (hidden) => `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`);
}

/** For a Markdown tooltip: the text as it is, whatever Markdown would make of it. */
export function inMarkdown(text: string): string {
  return visible(text).replace(MARKUP, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** For a sentence in a notification, where `[title](command:...)` would be a link. */
export function quoted(text: string): string {
  const safe = visible(text).replaceAll("](", "] (").replaceAll('"', "'");
  const letters = Array.from(safe);
  const short = letters.length > MOST ? [...letters.slice(0, MOST / 2 - 1), "…", ...letters.slice(-MOST / 2)] : letters;
  return `"${short.join("")}"`;
}
