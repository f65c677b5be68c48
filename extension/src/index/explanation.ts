// Why a file is or is not in the index, in sentences.
import { counted } from "../counts";
import type { PathExplanation } from "../protocol.gen";
import { type Sentence, fromSidecar, place, said } from "../shown";
import { ruleText } from "./rules";

export interface Explained {
  /** One sentence. */
  headline: Sentence;
  details: Sentence[];
  /** The file could be in the index and is not, or is in it and should not be. */
  wrong: boolean;
}

export function explained(answer: PathExplanation): Explained {
  return { headline: headlineOf(answer), details: detailsOf(answer).map(fromSidecar), wrong: isWrong(answer) };
}

function headlineOf({ path, inIndex, indexed, stale, exists }: PathExplanation): Sentence {
  const file = place(path);
  if (inIndex && !indexed) return said`${file} is still in the index and will be removed.`;
  if (inIndex)
    return stale ? said`${file} is indexed, but has changed since.` : said`${file} is indexed and up to date.`;
  if (!exists) return said`${file} does not exist.`;
  return indexed ? said`${file} is not indexed yet.` : said`${file} is not indexed.`;
}

function detailsOf(answer: PathExplanation): string[] {
  const { indexedAt, lastError = "" } = answer;
  return [
    reasonOf(answer),
    contentOf(answer),
    indexedAt === undefined ? "" : `Indexed ${new Date(indexedAt).toLocaleString()}.`,
    lastError === "" ? "" : `Last error: ${lastError}`,
  ].filter((line) => line !== "");
}

function reasonOf({ indexed, rule, detail }: PathExplanation): string {
  if (indexed) return "";
  return detail === "" ? ruleText(rule).sentence : `${ruleText(rule).sentence} (${detail})`;
}

function contentOf({ inIndex, chunks, embedded, language = "text" }: PathExplanation): string {
  if (!inIndex) return "";
  const cut = `Read as ${language}, ${counted(chunks, "chunk")}`;
  return embedded < chunks ? `${cut}, ${embedded} of them found by meaning so far.` : `${cut}.`;
}

function isWrong({ inIndex, indexed, stale, exists }: PathExplanation): boolean {
  return stale || (exists && inIndex !== indexed);
}
