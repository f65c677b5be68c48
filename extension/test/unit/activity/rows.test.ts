import { expect, test } from "vitest";
import { Feed } from "../../../src/activity/feed";
import { entryRow, isForeign, sessionRow, titleOf } from "../../../src/activity/rows";
import type { ActivityEntry } from "../../../src/protocol.gen";

const NOW = Date.parse("2026-01-02T12:00:00Z");
const SEARCHED: ActivityEntry = {
  id: 1,
  revision: 1,
  session: 1,
  agent: "Claude",
  door: "mcp",
  tool: "search_code",
  workspace: "/w",
  asked: "retry with backoff",
  started: "2026-01-02T11:58:00Z",
  state: "done",
  results: 5,
};

test("a call says what was asked, by whom, with what tool, what came of it and when", () => {
  expect(entryRow(SEARCHED, NOW)).toMatchObject({
    label: '"retry with backoff"',
    description: '"Claude"  ·  Search code  ·  5 results  ·  2 min ago',
    icon: "search",
    spoken: '"retry with backoff", "Claude", Search code, done, 5 results, 2 min ago',
  });
});

test.each([
  ["asking", "waits for your answer", "question"],
  ["refused", "refused", "circle-slash"],
  ["failed", "failed", "error"],
  ["running", "running", "sync~spin"],
  ["cancelled", "cancelled", "close"],
] as const)("a call that is %s says so", (state, said, icon) => {
  const row = entryRow({ ...SEARCHED, tool: "delete_index", asked: "", state }, NOW);
  expect(row.label).toBe("Delete index");
  expect(row.description).toContain(said);
  expect(row.icon).toBe(icon);
});

test("a client that does not say its name is called by its door", () => {
  expect(entryRow({ ...SEARCHED, agent: "", door: "rest" }, NOW).description).toMatch(/^REST/);
  expect(titleOf("find_similar")).toBe("Find similar");
});

test("who is attached is said with how much they asked; editors are not foreign", () => {
  const session = {
    id: 1,
    door: "mcp" as const,
    name: "Claude",
    version: "2",
    workspaces: [],
    since: "2026-01-02T11:00:00Z",
    asks: true,
    calls: 1,
    you: false,
  };
  expect(sessionRow(session, NOW)).toMatchObject({
    label: '"Claude" "2"',
    description: "agent  ·  1 call  ·  since 1 h ago",
  });
  expect(isForeign(session)).toBe(true);
  expect(isForeign({ door: "lsp" })).toBe(false);
});

test("what changes while an answer is on its way is fetched once more, not once for each change", async () => {
  const shown: number[] = [];
  let release: () => void = () => {};
  let fetched = 0;
  const feed = new Feed(
    async () => {
      fetched++;
      if (fetched === 1) await new Promise<void>((done) => (release = done));
      return fetched;
    },
    (value) => shown.push(value),
    () => {},
  );
  const first = feed.changed();
  void feed.changed();
  void feed.changed();
  release();
  await first;
  expect(shown).toEqual([1, 2]);
});

test("a failure is told and does not end the feed", async () => {
  const failures: unknown[] = [];
  const shown: string[] = [];
  let works = false;
  const feed = new Feed(
    () => (works ? Promise.resolve("fine") : Promise.reject(new Error("gone"))),
    (value) => shown.push(value),
    (error) => failures.push(error),
  );
  await feed.changed();
  works = true;
  await feed.changed();
  expect(failures).toHaveLength(1);
  expect(shown).toEqual(["fine"]);
});

test("where several folders are open, a call says about which it is", () => {
  const folders = new Map([
    ["/w", "x/app"],
    ["/v", "y/app"],
  ]);
  expect(entryRow(SEARCHED, NOW, folders)).toMatchObject({
    description: 'x/app  ·  "Claude"  ·  Search code  ·  5 results  ·  2 min ago',
    spoken: '"retry with backoff", "Claude", Search code, x/app, done, 5 results, 2 min ago',
  });
});

test("what a narrow view cuts off is in the tooltip: the question, who asked, in which folder and what came of it", () => {
  const entry = { ...SEARCHED, tookMs: 12.4, message: "Stale.\n[Show](command:x)", workspace: "/w/$(x)" };
  const [subject, who, where, outcome, when, message, ...more] = entryRow(entry, NOW).tip!;
  expect([subject, who, where, outcome]).toEqual([
    '"retry with backoff"',
    'by "Claude"',
    "in /w/$\u200b(x)",
    "search_code, 5 results, 12 ms",
  ]);
  expect(when).toContain("2026");
  expect([message, more]).toEqual(["Stale.\\u{a}[Show] (command:x)", []]);
});

test("who is attached has the folders in the tooltip", () => {
  const session = {
    ...{ id: 1, door: "mcp" as const, name: "Claude", version: "", workspaces: ["/w/app", "/v/app"] },
    ...{ since: "2026-01-02T11:00:00Z", asks: true, calls: 1, you: false },
  };
  expect(sessionRow(session, NOW).tip).toEqual(['"Claude"', "agent, 1 call, since 1 h ago", "in /w/app", "in /v/app"]);
});
