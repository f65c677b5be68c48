import { parse } from "jsonc-parser";
import { expect, test } from "vitest";
import { AGENTS, type Agent } from "../../../src/agents/catalog";
import { entryText, withEntry } from "../../../src/agents/entry";

const agent = (name: string): Agent => AGENTS.find((one) => one.name === name)!;
const claude = agent("Claude Code");
const codex = agent("Codex CLI");
const entry = claude.entry("/bin/sidecar");

function text(current: string, one = claude): string {
  const change = withEntry(one, current, entry);
  if ("refused" in change) throw new Error(change.refused);
  return change.text;
}

test("an empty or missing file becomes one with the entry alone", () => {
  expect(JSON.parse(text(""))).toEqual({ mcpServers: { sidecar: { command: "/bin/sidecar", args: ["mcp"] } } });
});

test("other entries, comments, their order, the indentation and line ends stay", () => {
  const before =
    '{\r\n\t// mine\r\n\t"mcpServers": {\r\n\t\t"other": { "command": "x" } // keep\r\n\t},\r\n\t"more": [1, 2]\r\n}\r\n';
  const after = text(before);
  expect(parse(after)).toEqual({ mcpServers: { other: { command: "x" }, sidecar: entry }, more: [1, 2] });
  for (const kept of ["// mine", "// keep", '{ "command": "x" }', "[1, 2]"]) expect(after).toContain(kept);
  expect(after.replaceAll("\r\n", "")).not.toContain("\n");
  expect(after).toContain('\r\n\t\t"sidecar"');
});

test("an entry of ours is replaced, and the same one is no change", () => {
  const once = text('{ "mcpServers": { "sidecar": { "command": "/old", "args": [] }, "b": {} } }');
  expect(parse(once)).toEqual({ mcpServers: { sidecar: entry, b: {} } });
  expect(text(once)).toBe(once);
});

test("nothing is changed where something could be lost", () => {
  const refused = (current: string, one = claude) => withEntry(one, current, entry);
  expect(refused("{ not json")).toEqual({ refused: "The file is not valid JSON." });
  expect(refused('{ "mcpServers": [] }')).toHaveProperty("refused");
  expect(refused("[1]")).toHaveProperty("refused");
  expect(refused('{ "mcpServers": {}, "mcpServers": {} }')).toEqual({ refused: '"mcpServers" occurs twice.' });
  const commented = '{ "mcpServers": { "sidecar": { /* why */ "command": "x" } } }';
  expect(refused(commented)).toEqual({ refused: "The existing entry contains comments." });
  expect(refused("[mcp_servers.sidecar]\n", codex)).toEqual({ refused: "There is already an entry of that name." });
  expect(refused("mcp_servers = { a = {} }\n", codex)).toHaveProperty("refused");
});

test("a comment stays with what it is about", () => {
  const before = '{\n  "mcpServers": { // ours\n    // about a\n    "a": {} // more on a\n    // the end\n  }\n}\n';
  const entryLines =
    '    "sidecar": {\n      "command": "/bin/sidecar",\n      "args": [\n        "mcp"\n      ]\n    }\n';
  const kept = '{\n  "mcpServers": { // ours\n    // about a\n    "a": {}, // more on a\n    // the end\n';
  expect(text(before)).toBe(`${kept}${entryLines}  }\n}\n`);
});

test("a mark at the file's beginning and trailing commas are let be", () => {
  const before = '\uFEFF{ "mcpServers": { "a": {}, }, }';
  const after = text(before);
  expect(after.startsWith("\uFEFF{")).toBe(true);
  expect(parse(after.slice(1), [], { allowTrailingComma: true })).toEqual({ mcpServers: { a: {}, sidecar: entry } });
});

test("a table is added at the end of TOML, what was there stays as it was", () => {
  const before = 'model = "x"\n[mcp_servers.other]\ncommand = "y"';
  expect(text(before, codex)).toBe(`${before}\n\n[mcp_servers.sidecar]\ncommand = "/bin/sidecar"\nargs = ["mcp"]\n`);
});

test("every agent's entry can be put into an empty file and can be pasted by hand", () => {
  for (const one of AGENTS) {
    const change = withEntry(one, "", one.entry("/bin/sidecar"));
    expect(change).toEqual({ text: entryText(one, one.entry("/bin/sidecar")) });
  }
});
