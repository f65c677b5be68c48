import type { CancellationToken } from "vscode";
import { expect, test } from "vitest";
import { find, titleOf, type Asked } from "../../../src/search/find";
import { Failure } from "../../../src/failure";
import type { Sidecar } from "../../../src/sidecar";
import { hit } from "../hits";

const token = {} as CancellationToken;

/** Notes what it is asked and answers the same to everything. */
function noting(answer: object): { sidecar: Sidecar; calls: { method: string; params: Record<string, unknown> }[] } {
  const calls: { method: string; params: Record<string, unknown> }[] = [];
  const call = (method: string, params: Record<string, unknown>) => {
    calls.push({ method, params });
    return Promise.resolve(answer);
  };
  return { sidecar: { call, statuses: new Map() } as unknown as Sidecar, calls };
}

const ANSWER = { results: [hit()], searchTimeMs: 12, notice: "Partial.", available: 40 };
const code: Asked = { subject: "code", query: "retry", mode: "hybrid" };

test.each([
  ["hybrid", "sidecar/searchCode", "hybrid"],
  ["words", "sidecar/searchCode", "fts"],
  ["meaning", "sidecar/searchCode", "vector"],
  ["docs", "sidecar/searchDocs", "hybrid"],
] as const)("the way %s asks %s by %s", async (mode, method, toolMode) => {
  const { sidecar, calls } = noting(ANSWER);
  const found = await find(sidecar, { ...code, mode }, token);
  expect(calls[0]).toMatchObject({ method, params: { query: "retry", mode: toolMode, explain: true } });
  expect(found).toEqual({ hits: ANSWER.results, tookMs: 12, notice: "Partial.", available: 40 });
});

test("a search of documents asks for documents whatever the way of searching code is", async () => {
  const { sidecar, calls } = noting(ANSWER);
  await find(sidecar, { subject: "docs", query: "install", mode: "words" }, token);
  expect(calls[0]).toMatchObject({ method: "sidecar/searchDocs", params: { mode: "hybrid" } });
});

test("symbols are what has a name to go to", async () => {
  const { sidecar, calls } = noting(ANSWER);
  await find(sidecar, { ...code, subject: "symbol" }, token);
  expect(calls[0]!.params.kinds).toContain("method");
});

test("similar code is asked for at a place, and its hits are of that folder", async () => {
  const { sidecar, calls } = noting(ANSWER);
  const spot = { workspace: "/w", path: "a.py", line: 3, endLine: 9 };
  const found = await find(sidecar, { ...code, subject: "similar", spot }, token);
  expect(calls[0]).toMatchObject({ params: { path: "a.py", line: 3, end_line: 9, workspace: "/w" } });
  expect(found.hits[0]!.workspace).toBe("/w");
});

test("paths become hits of whole files, each of its folder", async () => {
  const { sidecar } = noting({ matches: ["a/b.py", "c.py"], workspaces: ["/w", "/v"], totalMatches: 7 });
  const { hits, available } = await find(sidecar, { ...code, subject: "path" }, token);
  expect(hits.map(({ path, workspace, kind }) => [path, workspace, kind])).toEqual([
    ["a/b.py", "/w", "file"],
    ["c.py", "/v", "file"],
  ]);
  expect(available).toBe(7);
});

/** Answers each search by path with what is there for its pattern; a pattern that is not there is none. */
function listing(paths: Record<string, string[] | Failure>) {
  const calls: Record<string, unknown>[] = [];
  const call = (_: string, { limit: _limit, ...params }: Record<string, unknown>) => {
    calls.push(params);
    const found = paths[String(params.pattern)] ?? [];
    if (found instanceof Failure) return Promise.reject(found);
    return Promise.resolve({ matches: found, totalMatches: found.length, reason: "No." });
  };
  return { sidecar: { call } as unknown as Sidecar, calls };
}

test("a name that could be a pattern is found as it is written first, then what it matches as a pattern", async () => {
  const { sidecar, calls } = listing({ "[id].tsx": ["app/[id].tsx"], "**/[id].tsx": ["i.tsx", "app/[id].tsx"] });
  const { hits } = await find(sidecar, { ...code, subject: "path", query: "[id].tsx" }, token);
  expect(calls).toEqual([{ pattern: "[id].tsx", fuzzy: true }, { pattern: "**/[id].tsx" }]);
  expect(hits.map(({ path }) => path)).toEqual(["app/[id].tsx", "i.tsx"]);
});

test("a name that is no pattern is found, and only what is neither is refused", async () => {
  const refused = new Failure("INVALID_PATTERN", "The brackets are not closed.");
  const { sidecar } = listing({ "[z-a]": ["[z-a]/x.py"], "**/[z-a]": refused, "**/[y-a]": refused });
  const asked: Asked = { ...code, subject: "path" };
  expect((await find(sidecar, { ...asked, query: "[z-a]" }, token)).hits).toHaveLength(1);
  await expect(find(sidecar, { ...asked, query: "[y-a]" }, token)).rejects.toBe(refused);
});

const FOLDERS = new Map([
  ["/w/back", "back"],
  ["/w/front", "front"],
]);

test("a path that begins with an open folder's name is one in that folder, for files and for what is in them", async () => {
  const { sidecar, calls } = noting(ANSWER);
  const found = await find(sidecar, { ...code, query: "retry path:./back/src" }, token, FOLDERS);
  expect(calls[0]!.params).toMatchObject({ workspace: "/w/back", paths: ["src", "src/**"], query: "retry" });
  expect(found.hits[0]!.workspace).toBe("/w/back");
  await find(sidecar, { ...code, query: "retry path:./front" }, token, FOLDERS);
  expect(calls[1]!.params).toMatchObject({ workspace: "/w/front" });
  expect(calls[1]!.params).not.toHaveProperty("paths");

  const listed = listing({ "src/x": ["src/x.py"] });
  const files = await find(listed.sidecar, { ...code, subject: "path", query: "back/src/x" }, token, FOLDERS);
  expect(files.hits.map(({ path, workspace }) => [path, workspace])).toEqual([["src/x.py", "/w/back"]]);
  expect(listed.calls).toEqual([
    { pattern: "src/x", fuzzy: true, workspace: "/w/back" },
    { pattern: "back/src/x", fuzzy: true },
  ]);
});

test("paths in two of three folders are looked for in these two, and a path in none of them everywhere", async () => {
  const folders = new Map([...FOLDERS, ["/w/docs", "docs"]]);
  const { sidecar, calls } = noting(ANSWER);
  await find(sidecar, { ...code, query: "path:back/src path:front/src retry" }, token, folders);
  expect(calls[0]!.params).toMatchObject({ workspaces: ["/w/back", "/w/front"] });
  await find(sidecar, { ...code, query: "path:back/src path:lib/src retry" }, token, folders);
  for (const place of ["workspace", "workspaces"]) expect(calls[1]!.params).not.toHaveProperty(place);
});

test("filters among the words are the tool's parameters, and not searched for", async () => {
  const { sidecar, calls } = noting(ANSWER);
  await find(sidecar, { ...code, query: 'lang:ruby retry path:src kind:method "def call"' }, token);
  expect(calls[0]!.params).toMatchObject({
    query: "retry def call",
    languages: ["ruby"],
    kinds: ["method"],
    exact: ["def call"],
  });
  expect(calls[0]!.params.paths).toContain("**/src/**");
});

test("a kind that is asked for narrows a search for symbols", async () => {
  const { sidecar, calls } = noting(ANSWER);
  await find(sidecar, { ...code, subject: "symbol", query: "kind:class retry" }, token);
  expect(calls[0]!.params.kinds).toEqual(["class"]);
});

test("where the model fails, words answer and say so", async () => {
  const modes: unknown[] = [];
  const call = (_: string, params: Record<string, unknown>) => {
    modes.push(params.mode);
    return params.mode === "fts"
      ? Promise.resolve(ANSWER)
      : Promise.reject(new Failure("MODEL_LOAD_FAILED", "The model is gone."));
  };
  const sidecar = { call } as unknown as Sidecar;
  const found = await find(sidecar, { ...code, mode: "meaning" }, token);
  expect(found.hits).toEqual(ANSWER.results);
  expect(found.notice).toBe("Searched by word only: The model is gone. Partial.");
  expect(modes).toEqual(["vector", "fts"]);
});

test("titles say what was searched and how", () => {
  expect(titleOf(code)).toBe("“retry”, words and meaning");
  expect(titleOf({ ...code, subject: "similar", query: "a.py:3" })).toBe("Code like a.py:3");
  expect(titleOf({ ...code, subject: "path" })).toBe("Paths with “retry”");
});

test("a question of thousands of characters takes no more than a line of a title, and each of its characters is visible", () => {
  const asked: Asked = { subject: "code", query: `${"a\u202eb ".repeat(5000)}end`, mode: "hybrid" };
  for (const subject of ["code", "path", "similar"] as const) {
    expect(titleOf({ ...asked, subject }).length).toBeLessThan(100);
    expect(titleOf({ ...asked, subject })).toContain("a\\u{202e}b");
    expect(titleOf({ ...asked, subject })).toContain("end");
  }
});
