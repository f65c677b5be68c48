// Results as Markdown, to be pasted into a chat.
import type { FolderNames } from "../folderNames";
import { type Asked, titleOf } from "../search/find";
import { countText, isFile, linesText, pathOf, scoreOf } from "../search/row";
import { visible } from "../shown";
import type { PlacedHit } from "../sidecar";

/** Names of languages in code fences, where they differ from the sidecar's. */
const FENCES: Readonly<Record<string, string>> = { shell: "sh", text: "", notebook: "python", dockerfile: "docker" };

/** `folders`: more than one folder is open, so each path says in which it is. */
export function markdownOfHits(
  asked: Asked,
  hits: readonly PlacedHit[],
  notice?: string,
  folders?: FolderNames,
): string {
  const notes = notice === undefined ? "" : `\n> ${visible(notice)}\n`;
  const body = hits.every(isFile)
    ? hits.map((hit) => fileLine(hit, folders)).join("\n")
    : hits.map((hit) => markdownOfHit(hit, folders)).join("\n\n");
  return `## ${visible(titleOf(asked))}: ${countText(hits.length)}\n${notes}\n${body}\n`;
}

export function markdownOfHit(hit: PlacedHit, folders?: FolderNames): string {
  if (isFile(hit)) return fileLine(hit, folders);
  const heading = `### ${visible(pathOf(hit, folders))}:${linesText(hit).replace("–", "-")} (score ${scoreOf(hit)})`;
  return `${heading}\n\n${codeBlock(hit.content, hit.language)}`;
}

export function codeBlock(text: string, language: string): string {
  const fence = fenceFor(text);
  return `${fence}${FENCES[language] ?? language}\n${text.replace(/\n+$/, "")}\n${fence}`;
}

function fileLine(hit: PlacedHit, folders?: FolderNames): string {
  return `- ${visible(pathOf(hit, folders))}`;
}

/** Longer than every run of backticks in the text, so that the text cannot end it. */
function fenceFor(text: string): string {
  const runs = text.match(/`{3,}/g) ?? [];
  return "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
}
