// The kinds of searches, each as a question that can be stored, and the request that answers it.
import type { CancellationToken } from "vscode";
import type { PathMatches, SearchByPathParams, SearchHit } from "../protocol.gen";
import type { Place, PlacedHit, PlacedResult, Sidecar } from "../sidecar";
import { asFailure } from "../failure";
import { inTitle } from "../shown";
import { parametersOf, understood } from "./filters";
import { SYMBOL_KINDS, baseName } from "./kinds";
import { type ModeId, modeOf, toolMode, usualMode } from "./modes";

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

export interface Found {
  hits: PlacedHit[];
  /** The total number of hits, if there are more. */
  available?: number;
  /** Why the answer is partial or stale. */
  notice?: string;
  /** Why there are no hits. */
  reason?: string;
  tookMs?: number;
}

const SHOWN = 30;
const PATHS_SHOWN = 100;

/** Rejects with `Failure`. */
export function find(sidecar: Sidecar, asked: Asked, token: CancellationToken): Promise<Found> {
  if (asked.subject === "path") return findPaths(sidecar, asked.query, token);
  if (asked.subject === "similar") return findSimilar(sidecar, asked.spot, token);
  return search(sidecar, asked, token);
}

/** If the model fails, words answer, and the notice says so. */
async function search(sidecar: Sidecar, asked: Asked, token: CancellationToken): Promise<Found> {
  const isByMode = asked.subject === "code" && asked.mode !== "docs";
  const wanted = isByMode ? toolMode(asked.mode) : usualMode(sidecar);
  try {
    return await searchBy(sidecar, asked, wanted, token);
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code !== "MODEL_LOAD_FAILED" || wanted === "fts") throw error;
    const found = await searchBy(sidecar, asked, "fts", token);
    return { ...found, notice: [`Searched by word only: ${failure.message}`, found.notice ?? ""].join(" ").trim() };
  }
}

async function searchBy(
  sidecar: Sidecar,
  asked: Asked,
  mode: "hybrid" | "fts" | "vector",
  token: CancellationToken,
): Promise<Found> {
  const wanted = understood(asked.query);
  const kinds = asked.subject === "symbol" ? { kinds: [...SYMBOL_KINDS] } : {};
  const method = isAboutDocs(asked) ? "sidecar/searchDocs" : "sidecar/searchCode";
  const params = { query: wanted.text, mode, top_k: SHOWN, explain: true, ...kinds, ...parametersOf(wanted) };
  const result = (await sidecar.call(method, params, token)) as PlacedResult;
  return found(result.results, result);
}

function isAboutDocs({ subject, mode }: Pick<Asked, "subject" | "mode">): boolean {
  return subject === "docs" || (subject === "code" && mode === "docs");
}

async function findSimilar(sidecar: Sidecar, spot: Spot | undefined, token: CancellationToken): Promise<Found> {
  if (spot === undefined) return { hits: [] };
  const { workspace, path, line, endLine } = spot;
  const params = { path, line, ...(endLine === undefined ? {} : { end_line: endLine }), limit: SHOWN, workspace };
  const result = await sidecar.call("sidecar/findSimilar", params, token);
  return found(
    result.results.map((hit: SearchHit) => ({ ...hit, workspace })),
    result,
  );
}

async function findPaths(sidecar: Sidecar, query: string, token: CancellationToken): Promise<Found> {
  const params: SearchByPathParams & Place = { ...patternOf(query), limit: PATHS_SHOWN };
  const result: PathMatches & { workspaces?: string[] } = await sidecar.call("sidecar/searchByPath", params, token);
  const hits = result.matches.map((path, at) => fileHit(path, result.workspaces?.[at]));
  const { notice, reason } = result;
  return {
    hits,
    ...(result.totalMatches > hits.length ? { available: result.totalMatches } : {}),
    ...(notice === undefined ? {} : { notice }),
    ...(reason === undefined ? {} : { reason }),
  };
}

function found(
  hits: PlacedHit[],
  answer: { available?: number; notice?: string; reason?: string; searchTimeMs: number },
): Found {
  const { available, notice, reason, searchTimeMs } = answer;
  return {
    hits,
    tookMs: searchTimeMs,
    ...(available === undefined ? {} : { available }),
    ...(notice === undefined ? {} : { notice }),
    ...(reason === undefined ? {} : { reason }),
  };
}

function fileHit(path: string, workspace: string | undefined): PlacedHit {
  return {
    path,
    content: "",
    score: 1,
    startLine: 1,
    endLine: 1,
    language: "",
    kind: "file",
    names: [baseName(path)],
    ...(workspace === undefined ? {} : { workspace }),
  };
}

/** What a person types for a path: a glob as it is; else letters of it, as the editor's own list of files takes them. */
export function patternOf(text: string): { pattern: string; fuzzy?: boolean } {
  const typed = text.trim();
  if (!/[*?[\]{}]/.test(typed)) return { pattern: typed, fuzzy: true };
  return { pattern: typed.includes("/") ? typed : `**/${typed}` };
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
