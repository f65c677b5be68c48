// The kinds of searches, each as a question that can be stored, and the request that answers it.
import type { CancellationToken } from "vscode";
import type { PlacedHit, PlacedResult, Sidecar } from "../sidecar";
import { asFailure } from "../failure";
import { inTitle } from "../shown";
import { type Wanted, parametersOf, understood } from "./filters";
import type { FolderNames } from "../folderNames";
import { SYMBOL_KINDS } from "./kinds";
import { type ModeId, modeOf, toolMode, usualMode } from "./modes";
import { findPaths } from "./findPaths";
import { type Facts, type Found, foundOf } from "./found";
import { several } from "./place";

export type { Found } from "./found";
export type Subject = "code" | "docs" | "symbol" | "similar" | "path";

/** Whether the input may contain lang:, path:, kind: and "exact text". */
export function takesFilters(subject: Subject): boolean {
  return subject !== "path" && subject !== "similar";
}

/** A place whose code is compared with other code; a selection has `endLine`. */
export interface Spot {
  workspace: string;
  path: string;
  line: number;
  endLine?: number;
}

/** Plain: it is kept between sessions. */
export interface Asked {
  subject: Subject;
  query: string;
  mode: ModeId;
  spot?: Spot;
}

const SHOWN = 30;

/** Rejects with `Failure`. `folders`: the names of the open folders, if there are several. */
export function find(
  sidecar: Sidecar,
  asked: Asked,
  token: CancellationToken,
  folders: FolderNames | undefined = several(),
): Promise<Found> {
  if (asked.subject === "path") return findPaths(sidecar, asked.query, token, folders);
  if (asked.subject === "similar") return findSimilar(sidecar, asked.spot, token);
  return search(sidecar, asked, token, folders);
}

/** If the model fails, words answer, and the notice says so. */
async function search(
  sidecar: Sidecar,
  asked: Asked,
  token: CancellationToken,
  folders: FolderNames | undefined,
): Promise<Found> {
  const searched = understood(asked.query, folders);
  const isByMode = asked.subject === "code" && asked.mode !== "docs";
  const wanted = isByMode ? toolMode(asked.mode) : usualMode(sidecar);
  try {
    return await searchBy(sidecar, asked, searched, wanted, token);
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code !== "MODEL_LOAD_FAILED" || wanted === "fts") throw error;
    const found = await searchBy(sidecar, asked, searched, "fts", token);
    return { ...found, notice: [`Searched by word only: ${failure.message}`, found.notice ?? ""].join(" ").trim() };
  }
}

async function searchBy(
  sidecar: Sidecar,
  asked: Asked,
  wanted: Wanted,
  mode: "hybrid" | "fts" | "vector",
  token: CancellationToken,
): Promise<Found> {
  const kinds = asked.subject === "symbol" ? { kinds: [...SYMBOL_KINDS] } : {};
  const method = isAboutDocs(asked) ? "sidecar/searchDocs" : "sidecar/searchCode";
  const parameters = parametersOf(wanted);
  const params = { query: wanted.text, mode, top_k: SHOWN, explain: true, ...kinds, ...parameters };
  const result = (await sidecar.call(method, params, token)) as PlacedResult;
  return found(placed(result.results, parameters.workspace), result);
}

/** Hits of a call about one folder do not name it. */
function placed(hits: PlacedHit[], workspace: unknown): PlacedHit[] {
  return typeof workspace === "string" ? hits.map((hit) => ({ ...hit, workspace })) : hits;
}

function isAboutDocs({ subject, mode }: Pick<Asked, "subject" | "mode">): boolean {
  return subject === "docs" || (subject === "code" && mode === "docs");
}

async function findSimilar(sidecar: Sidecar, spot: Spot | undefined, token: CancellationToken): Promise<Found> {
  if (spot === undefined) return { hits: [] };
  const { workspace, path, line, endLine } = spot;
  const params = { path, line, ...(endLine === undefined ? {} : { end_line: endLine }), limit: SHOWN, workspace };
  const result = await sidecar.call("sidecar/findSimilar", params, token);
  return found(placed(result.results, workspace), result);
}

function found(hits: PlacedHit[], { searchTimeMs, ...answer }: Facts & { searchTimeMs: number }): Found {
  return foundOf(hits, { ...answer, tookMs: searchTimeMs });
}

/** How a question is asked, in a few words; empty if there is only one way. */
export function manner({ subject, mode }: Asked): string {
  if (subject === "code") return modeOf(mode).title;
  return { docs: "documentation", symbol: "symbols", similar: "", path: "" }[subject];
}

/** For titles: what was searched, and how. The question may be a text of thousands of characters. */
export function titleOf(asked: Asked): string {
  const query = inTitle(asked.query);
  if (asked.subject === "path") return `Paths with “${query}”`;
  if (asked.subject === "similar") return `Code like ${query}`;
  return `“${query}”, ${manner(asked)}`;
}

export function sameAsked(one: Asked, other: Asked): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
