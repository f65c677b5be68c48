// The searches as tools of the editor's own agents, which work at once. Where the MCP server runs in this window, the
// editor leaves them out (`when` in the manifest): agents would see each of them twice.
import * as vscode from "vscode";
import { asFailure } from "../failure";
import { markdownOfHits } from "../results/markdown";
import type { Asked } from "../search/find";
import { placeOfPath } from "../folderNames";
import { several } from "../search/place";
import { quoted } from "../shown";
import type { PlacedHit, PlacedResult, Sidecar } from "../sidecar";

const MOST = 10;

interface SearchInput {
  query: string;
  paths?: string[];
  languages?: string[];
  kinds?: string[];
}

interface SimilarInput {
  path: string;
  line: number;
}

export function registerTools(sidecar: Sidecar): vscode.Disposable[] {
  if (typeof (vscode.lm as Partial<typeof vscode.lm> | undefined)?.registerTool !== "function") return [];
  return [
    vscode.lm.registerTool<SearchInput>("sidecar_searchCode", {
      prepareInvocation: ({ input }) => ({ invocationMessage: `Searching for ${quoted(input.query)}` }),
      invoke: ({ input }, token) => told(asked("code", input.query), () => search(sidecar, input, token)),
    }),
    vscode.lm.registerTool<SimilarInput>("sidecar_findSimilar", {
      prepareInvocation: ({ input }) => ({ invocationMessage: `Searching for code like ${quoted(input.path)}` }),
      invoke: ({ input }, token) =>
        told(asked("similar", `${input.path}:${input.line}`), () => findSimilar(sidecar, input, token)),
    }),
  ];
}

function asked(subject: Asked["subject"], query: string): Asked {
  return { subject, query, mode: "hybrid" };
}

async function search(sidecar: Sidecar, input: SearchInput, token: vscode.CancellationToken): Promise<PlacedResult> {
  const result = await sidecar.call("sidecar/searchCode", { ...input, top_k: MOST }, token);
  return result as PlacedResult;
}

/** Where several folders are open, the path begins with the name of its own, as those do that a search has answered. */
async function findSimilar(sidecar: Sidecar, input: SimilarInput, token: vscode.CancellationToken): Promise<Answer> {
  const place = placeOfPath(input.path, several());
  const result = await sidecar.call("sidecar/findSimilar", { line: input.line, limit: MOST, ...place }, token);
  return { ...result, results: result.results.map((hit) => ({ ...place, ...hit })) };
}

interface Answer {
  results: PlacedHit[];
  notice?: string;
  reason?: string;
}

/** The answer as text; a failure is given in the sidecar's own sentence. */
async function told(asked: Asked, run: () => Promise<Answer>): Promise<vscode.LanguageModelToolResult> {
  let answer: Answer;
  try {
    answer = await run();
  } catch (error) {
    throw new Error(asFailure(error).message, { cause: error });
  }
  const { results, notice, reason } = answer;
  const text =
    results.length === 0 ? `No results. ${reason ?? ""}`.trim() : markdownOfHits(asked, results, notice, several());
  return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
}
