// Results as one text, in the form that the editor has for its own search results: it knows their files and lines, so
// that they are links there, and its find, folding and copying work on them.
import { linesOf } from "../search/excerpt";
import type { FolderNames } from "../folderNames";
import { folderOfHit, isFile } from "../search/row";
import { visible } from "../shown";
import type { PlacedHit } from "../sidecar";
import { type FileGroup, groupsOf } from "./groups";

/** The editor's name for that form. */
export const LANGUAGE = "search-result";

/** `folders`: more than one folder is open, so each file says which is its own. */
export function textOfHits(
  heading: string,
  notice: string | undefined,
  hits: readonly PlacedHit[],
  folders?: FolderNames,
): string {
  const head = [heading, ...(notice === undefined ? [] : [notice])].map((line) => `# ${visible(line)}`);
  const files = groupsOf(hits).map((group) => [fileLine(group, folders), ...bodyOf(group)].join("\n"));
  return `${[head.join("\n"), ...files].join("\n\n")}\n`;
}

/** The editor knows a folder by its own name. A name that is a part of a path is ours, so the whole path is given. */
function fileLine(group: FileGroup, folders: FolderNames | undefined): string {
  const { path, workspace } = group;
  const folder = folderOfHit(group, folders);
  if (folder?.includes("/") === true) return `${visible(`${workspace}/${path}`)}:`;
  return `${folder === undefined ? "" : `${visible(folder)} • `}${visible(path)}:`;
}

function bodyOf({ hits }: FileGroup): string[] {
  return hits.filter((hit) => !isFile(hit)).flatMap((hit, at) => [...(at === 0 ? [] : [""]), ...linesFrom(hit)]);
}

/** A line that shows why the hit was found has a colon after its number; the others are its surroundings. */
function linesFrom(hit: PlacedHit): string[] {
  const excerpt = new Set(linesOf(hit).map(({ line }) => line));
  const width = String(hit.endLine).length;
  return hit.content
    .replace(/\n+$/, "")
    .split("\n")
    .map((text, at) => {
      const line = hit.startLine + at;
      const shownText = text.split("\t").map(visible).join("\t");
      return `  ${String(line).padStart(width)}${excerpt.has(line) ? ":" : " "} ${shownText}`;
    });
}
