// One hit as the two lines of a row: what it is and where, and the match. A reader speaks all of it, so it has no signs
// that only an eye understands.
import { counted } from "../counts";
import type { FolderNames } from "../folderNames";
import type { PlacedHit } from "../sidecar";
import { clipped, linesOf } from "./excerpt";
import type { Found } from "./find";
import { baseName, folderOf, iconOf, kindOf, nameOf } from "./kinds";
import { inRow } from "../shown";

export interface Row {
  label: string;
  description: string;
  detail: string;
}

const BETWEEN = "  ⋯  ";
/** Characters of a match that fit into a row of the palette. */
const WIDTH = 76;

/** `folders`: hits of more than one folder are listed, so each says which is its own. */
export function rowOf(hit: PlacedHit, folders?: FolderNames): Row {
  const about = hit.definition === undefined ? [] : [inRow(kindOf(hit))];
  return {
    label: `$(${iconOf(kindOf(hit))}) ${inRow(nameOf(hit))}`,
    description: [...about, inRow(placeOf(hit, folders)), ...(isFile(hit) ? [] : [scoreOf(hit)])].join("  ·  "),
    detail: inRow(matchOf(hit)),
  };
}

/** Both lines must be visible: a short one leaves its space to the other. */
function matchOf(hit: PlacedHit): string {
  const lines = linesOf(hit).map(({ pieces }) => pieces);
  const lengths = lines.map((pieces) => pieces.join("").length);
  return lines
    .map((pieces, at) => clipped(pieces, Math.max(WIDTH / 2, WIDTH - Math.min(...lengths.toSpliced(at, 1), WIDTH))))
    .map((pieces) => pieces.join(""))
    .join(BETWEEN);
}

/** A hit that is a whole file, found by its path. */
export function isFile(hit: Pick<PlacedHit, "kind">): boolean {
  return hit.kind === "file";
}

export function placeOf(hit: PlacedHit, folders?: FolderNames): string {
  const path = pathOf(hit, folders);
  return isFile(hit) ? folderOf(path) : `${path}:${linesText(hit)}`;
}

/** A hit's path; where more than one folder is open, it begins with the name of the hit's own. */
export function pathOf(hit: Pick<PlacedHit, "path" | "workspace">, folders?: FolderNames): string {
  const folder = folderOfHit(hit, folders);
  return folder === undefined ? hit.path : `${folder}/${hit.path}`;
}

/** The name of a hit's folder; undefined where only one is open. */
export function folderOfHit({ workspace }: Pick<PlacedHit, "workspace">, folders?: FolderNames): string | undefined {
  if (folders === undefined || workspace === undefined) return undefined;
  return folders.get(workspace) ?? baseName(workspace);
}

export function linesText(hit: Pick<PlacedHit, "startLine" | "endLine">): string {
  return hit.endLine > hit.startLine ? `${hit.startLine}–${hit.endLine}` : `${hit.startLine}`;
}

export function scoreOf(hit: Pick<PlacedHit, "score">): string {
  return hit.score.toFixed(2);
}

/** The number shown, the total, and the time that it took. */
export function summaryOf({ hits, available, tookMs }: Pick<Found, "hits" | "available" | "tookMs">): string {
  const count = available === undefined ? countText(hits.length) : `${hits.length} of ${counted(available, "result")}`;
  return tookMs === undefined ? count : `${count} in ${Math.max(1, Math.round(tookMs))} ms`;
}

export function countText(results: number): string {
  return counted(results, "result");
}
