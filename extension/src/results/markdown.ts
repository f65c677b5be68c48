// Results as Markdown, to be pasted into a chat.
import { type Asked, titleOf } from "../search/find";
import { countText, isFile, linesText, scoreOf } from "../search/row";
import { visible } from "../shown";
import type { PlacedHit } from "../sidecar";

/** Names of languages in code fences, where they differ from the sidecar's. */
const FENCES: Readonly<Record<string, string>> = { shell: "sh", text: "", notebook: "python", dockerfile: "docker" };

export function markdownOfHits(asked: Asked, hits: readonly PlacedHit[], notice?: string): string {
  const notes = notice === undefined ? "" : `\n> ${visible(notice)}\n`;
  const body = hits.every(isFile) ? hits.map(fileLine).join("\n") : hits.map(markdownOfHit).join("\n\n");
  return `## ${visible(titleOf(asked))}: ${countText(hits.length)}\n${notes}\n${body}\n`;
}

export function markdownOfHit(hit: PlacedHit): string {
  if (isFile(hit)) return fileLine(hit);
  const heading = `### ${visible(hit.path)}:${linesText(hit).replace("–", "-")} (score ${scoreOf(hit)})`;
  return `${heading}\n\n${codeBlock(hit.content, hit.language)}`;
}

export function codeBlock(text: string, language: string): string {
  const fence = fenceFor(text);
  return `${fence}${FENCES[language] ?? language}\n${text.replace(/\n+$/, "")}\n${fence}`;
}

function fileLine({ path }: PlacedHit): string {
  return `- ${visible(path)}`;
}

/** Longer than every run of backticks in the text, so that the text cannot end it. */
function fenceFor(text: string): string {
  const runs = text.match(/`{3,}/g) ?? [];
  return "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
}
