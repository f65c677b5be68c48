// Puts one entry into an agent's settings text. Everything else in it stays, comments too; where that cannot be had,
// nothing is changed and the reason is given.
import { createScanner, findNodeAtLocation, modify, applyEdits, parse, parseTree, type Node } from "jsonc-parser";
import type { ParseError } from "jsonc-parser";
import { isDeepStrictEqual } from "node:util";
import type { Agent } from "./catalog";

export type Change = { text: string } | { refused: string };

export function withEntry(agent: Agent, current: string, entry: object): Change {
  return agent.format === "toml" ? withTable(agent, current, entry) : withMember(agent.way, current, entry);
}

/** What a person pastes by hand. */
export function entryText(agent: Agent, entry: object): string {
  if (agent.format === "toml") return table(agent, entry);
  const nested = agent.way.reduceRight<unknown>((inner, key) => ({ [key]: inner }), entry);
  return `${JSON.stringify(nested, undefined, 2)}\n`;
}

const BOM = "\uFEFF";
const LENIENT = { allowTrailingComma: true, disallowComments: false };

function withMember(way: readonly string[], current: string, entry: object): Change {
  const mark = current.startsWith(BOM) ? BOM : "";
  const text = current.slice(mark.length);
  if (text.trim() === "") return { text: `${mark}${nest(way, entry)}` };
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, LENIENT);
  if (root === undefined || errors.length > 0) return { refused: "The file is not valid JSON." };
  const hindrance = hindered(root, way, text);
  if (hindrance !== undefined) return { refused: hindrance };
  const formattingOptions = { ...indentation(text), eol: text.includes("\r\n") ? "\r\n" : "\n" };
  const made = applyEdits(text, modify(text, [...way], entry, { formattingOptions }));
  return keepsTheRest(text, made, way, entry) ? { text: mark + made } : { refused: "The file has an unusual form." };
}

/** Why the entry cannot be put there: the way leads through something else, twice to the same name, or over comments. */
function hindered(root: Node, way: readonly string[], text: string): string | undefined {
  let node = root;
  for (const key of way) {
    if (node.type !== "object") return `${JSON.stringify(key)} has no place: what should hold it is no object.`;
    const [found, second] = members(node, key);
    if (second !== undefined) return `${JSON.stringify(key)} is there twice.`;
    if (found === undefined) return undefined;
    node = found;
  }
  const former = text.slice(node.offset, node.offset + node.length);
  return comments(former).length > 0 ? "The entry that is there has comments in it." : undefined;
}

/** The values of an object's members of this name. */
function members(node: Node, key: string): Node[] {
  const named = (node.children ?? []).filter((member) => member.children?.[0]?.value === key);
  return named.flatMap((member) => member.children?.slice(1) ?? []);
}

function keepsTheRest(before: string, after: string, way: readonly string[], entry: object): boolean {
  const errors: ParseError[] = [];
  const tree = parseTree(after, errors, LENIENT);
  const without = (text: string): unknown => {
    const edits = modify(text, [...way], entry, {});
    return parse(applyEdits(text, edits), [], LENIENT);
  };
  const placed = tree && findNodeAtLocation(tree, [...way]);
  const same = isDeepStrictEqual(without(before), parse(after, [], LENIENT));
  return errors.length === 0 && placed !== undefined && same && isDeepStrictEqual(comments(before), comments(after));
}

const LINE_COMMENT = 12;
const BLOCK_COMMENT = 13;
const END = 17;

function comments(text: string): string[] {
  const scanner = createScanner(text);
  const found: string[] = [];
  for (let kind: number = scanner.scan(); kind !== END; kind = scanner.scan())
    if (kind === LINE_COMMENT || kind === BLOCK_COMMENT) found.push(scanner.getTokenValue());
  return found;
}

function indentation(text: string): { insertSpaces: boolean; tabSize: number } {
  const first = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  return { insertSpaces: !first.startsWith("\t"), tabSize: first.startsWith("\t") ? 1 : first.length };
}

function nest(way: readonly string[], entry: object): string {
  const nested = way.reduceRight<unknown>((inner, key) => ({ [key]: inner }), entry);
  return `${JSON.stringify(nested, undefined, 2)}\n`;
}

function withTable(agent: Agent, current: string, entry: object): Change {
  const [section = "", name = ""] = agent.way;
  const taken = new RegExp(`${section}["']?\\s*\\.\\s*["']?${name}\\b`).test(current);
  if (taken) return { refused: "An entry of that name is there." };
  if (new RegExp(`^\\s*["']?${section}["']?\\s*=`, "m").test(current))
    return { refused: `"${section}" is written in one line, to which a table cannot be added.` };
  const gap = current === "" || current.endsWith("\n\n") ? "" : current.endsWith("\n") ? "\n" : "\n\n";
  return { text: current + gap + table(agent, entry) };
}

/** JSON's strings and lists of them are TOML's too. */
function table(agent: Agent, entry: object): string {
  const lines = Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `[${agent.way.join(".")}]\n${lines.join("\n")}\n`;
}
