// The excerpt lines of a hit, in the pieces that the sidecar gives, for places that mark words in their own way.
import type { ExcerptLine } from "../protocol.gen";
import type { PlacedHit } from "../sidecar";
import { visible } from "../shown";

const PLAIN_WIDTH = 160;
/** Text before the first hit word is shown up to this length; of longer text, only the last words. */
const BEFORE = 28;
const LAST_WORDS = 16;
/** The same for a row that may be narrow. */
const BEFORE_NARROW = 8;

export interface Highlighted {
  label: string;
  /** Start and end of each hit word. */
  highlights: [number, number][];
}

/** At most two lines; for a hit without an excerpt (similar code), the first two that are not blank. */
export function linesOf(hit: Pick<PlacedHit, "content" | "excerpt" | "startLine">): ExcerptLine[] {
  return plainLinesOf(hit).map(({ line, pieces }) => ({ line, pieces: pieces.map(inOneLine) }));
}

/** Replaces tabs, which a row cannot show. */
function inOneLine(piece: string): string {
  return visible(piece.replaceAll("\t", " "));
}

function plainLinesOf(hit: Pick<PlacedHit, "content" | "excerpt" | "startLine">): ExcerptLine[] {
  if (hit.excerpt !== undefined) return hit.excerpt;
  return hit.content
    .split("\n")
    .map((text, at) => ({ line: hit.startLine + at, pieces: [shortened(text.trim())] }))
    .filter(({ pieces }) => pieces[0] !== "")
    .slice(0, 2);
}

/** Every second piece is a hit word. `before` is put in front of the pieces. */
export function highlighted(pieces: readonly string[], before = ""): Highlighted {
  let label = before;
  const highlights: [number, number][] = [];
  pieces.forEach((piece, at) => {
    if (at % 2 === 1) highlights.push([label.length, label.length + piece.length]);
    label += piece;
  });
  return { label, highlights };
}

/** As many characters as fit, from a little before the first hit word on. */
export function clipped(pieces: readonly string[], width: number): string[] {
  const [head = "", ...rest] = pieces;
  const long = pieces.join("").length > width;
  const start = long && rest.length > 0 ? endOf(head, BEFORE, LAST_WORDS) : head;
  const kept: string[] = [];
  let room = width;
  for (const piece of [start, ...rest]) {
    if (room <= 0) break;
    kept.push(piece.length > room ? `${piece.slice(0, room)}…` : piece);
    room -= piece.length;
  }
  return kept;
}

/** The pieces from a little before the first hit word on. */
export function fromHitWord(pieces: readonly string[]): string[] {
  const [head = "", ...rest] = pieces;
  return rest.length === 0 ? [head] : [endOf(head, BEFORE_NARROW, BEFORE_NARROW), ...rest];
}

function endOf(text: string, most: number, kept: number): string {
  if (text.length <= most) return text;
  const end = text.slice(-kept);
  return `…${end.slice(end.indexOf(" ") + 1)}`;
}

function shortened(text: string): string {
  return text.length > PLAIN_WIDTH ? `${text.slice(0, PLAIN_WIDTH)}…` : text;
}
