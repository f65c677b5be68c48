// Files by their paths: asks for the text as letters and, where it can be one, as a pattern, and merges the answers.
import type { CancellationToken } from "vscode";
import { Failure } from "../failure";
import type { FolderNames } from "../folderNames";
import type { PathMatches } from "../protocol.gen";
import type { PlacedHit, Sidecar } from "../sidecar";
import { type Found, foundOf } from "./found";
import { baseName } from "./kinds";
import { type PathPattern, patternsOf } from "./typedPath";

const SHOWN = 100;

type Answer = PathMatches & { workspaces?: string[] };

/** Rejects with `Failure`. */
export async function findPaths(
  sidecar: Sidecar,
  text: string,
  token: CancellationToken,
  folders: FolderNames | undefined,
): Promise<Found> {
  const patterns = patternsOf(text, folders);
  return merged(await Promise.all(patterns.map((pattern) => ask(sidecar, pattern, token))));
}

interface Paths {
  hits: PlacedHit[];
  /** How many more match. */
  more: number;
  notice?: string | undefined;
  reason?: string | undefined;
  /** Why the text is no pattern: what was meant as a name need not be one. */
  failure?: Failure;
}

async function ask(sidecar: Sidecar, pattern: PathPattern, token: CancellationToken): Promise<Paths> {
  try {
    const answer: Answer = await sidecar.call("sidecar/searchByPath", { ...pattern, limit: SHOWN }, token);
    const { matches, workspaces, totalMatches, notice, reason } = answer;
    const hits = matches.map((path, at) => fileHit(path, pattern.workspace ?? workspaces?.[at]));
    return { hits, more: totalMatches - hits.length, notice, reason };
  } catch (error) {
    if (error instanceof Failure && error.code === "INVALID_PATTERN") return { hits: [], more: 0, failure: error };
    throw error;
  }
}

function merged(answers: readonly Paths[]): Found {
  const hits = eachOnce(answers.flatMap((answer) => answer.hits));
  const failure = answers.find((answer) => answer.failure !== undefined)?.failure;
  if (failure !== undefined && hits.length === 0) throw failure;
  const available = hits.length + answers.reduce((more, answer) => more + answer.more, 0);
  const shown = hits.slice(0, SHOWN);
  return foundOf(shown, {
    available: available > shown.length ? available : undefined,
    notice: answers.find((answer) => answer.notice !== undefined)?.notice,
    reason: hits.length > 0 ? undefined : answers.at(-1)?.reason,
  });
}

function eachOnce(hits: readonly PlacedHit[]): PlacedHit[] {
  return [...new Map(hits.map((hit) => [`${hit.workspace ?? ""}\n${hit.path}`, hit])).values()];
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
