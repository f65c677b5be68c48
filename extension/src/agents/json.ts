// Sets one member of a JSON text, which may have comments and trailing commas, and touches nothing else in it.
import { createScanner, parse, parseTree, type Node, type ParseError } from "jsonc-parser";
import { isDeepStrictEqual } from "node:util";

export type Change = { text: string } | { refused: string };

const BOM = "\uFEFF";
const LENIENT = { allowTrailingComma: true, disallowComments: false };

/** Refuses a change that would lose something, and gives the reason. */
export function withMember(way: readonly string[], current: string, value: object): Change {
  const mark = current.startsWith(BOM) ? BOM : "";
  const text = current.slice(mark.length);
  if (text.trim() === "") return { text: `${mark}${JSON.stringify(nest(way, value), undefined, 2)}\n` };
  const made = changed(text, way, value);
  return "refused" in made ? made : { text: mark + made.text };
}

function changed(text: string, way: readonly string[], value: object): Change {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, LENIENT);
  if (root === undefined || errors.length > 0) return { refused: "The file is not valid JSON." };
  const place = find(root, way);
  if (typeof place === "string") return { refused: place };
  const made = place.rest.length === 0 ? replaced(text, place.node, value) : inserted(text, place, value);
  if (made === undefined) return { refused: "The existing entry contains comments." };
  return keepsTheRest(text, made, way, value) ? { text: made } : { refused: "The file has an unexpected structure." };
}

export function nest(way: readonly string[], value: unknown): unknown {
  return way.reduceRight((inner, key) => ({ [key]: inner }), value);
}

interface Place {
  /** The value that exists already, or the object to which the remaining keys are added. */
  node: Node;
  rest: readonly string[];
  depth: number;
}

/** Or why there is none. */
function find(root: Node, way: readonly string[]): Place | string {
  let node = root;
  for (const [depth, key] of way.entries()) {
    if (node.type !== "object") return `${JSON.stringify(key)} cannot be added: its parent is not an object.`;
    const [found, second] = members(node, key);
    if (second !== undefined) return `${JSON.stringify(key)} occurs twice.`;
    if (found === undefined) return { node, rest: way.slice(depth), depth };
    node = found;
  }
  return { node, rest: [], depth: way.length };
}

/** The values of an object's members of this name. */
function members(node: Node, key: string): Node[] {
  const named = (node.children ?? []).filter((member) => member.children?.[0]?.value === key);
  return named.flatMap((member) => member.children?.slice(1) ?? []);
}

function replaced(text: string, node: Node, value: object): string | undefined {
  const end = node.offset + node.length;
  const former = text.slice(node.offset, end);
  if (isDeepStrictEqual(parse(former, [], LENIENT), value)) return text;
  if (comments(former).length > 0) return undefined;
  const line = text.slice(text.lastIndexOf("\n", node.offset) + 1, node.offset);
  const own = /^[ \t]*/.exec(line)?.[0] ?? "";
  return (
    text.slice(0, node.offset) + (former.includes("\n") ? printed(text, value, own) : oneLine(value)) + text.slice(end)
  );
}

/** Adds at the object's end, after every comment. */
function inserted(text: string, { node, rest, depth }: Place, value: object): string {
  const [key = "", ...further] = rest;
  const content = nest(further, value);
  const close = node.offset + node.length - 1;
  const last = node.children?.at(-1);
  const comma = last !== undefined && !commaFollows(text.slice(last.offset + last.length, close));
  const before = comma ? at(text, last.offset + last.length, ",", close) : text.slice(0, close);
  const name = JSON.stringify(key);
  if (last !== undefined && !text.slice(node.offset, close).includes("\n"))
    return `${before.trimEnd()} ${name}: ${oneLine(content)} ${text.slice(close)}`;
  const outer = unit(text).repeat(depth);
  const inner = outer + unit(text);
  const member = `${inner}${name}: ${printed(text, content, inner)}`;
  return `${before.trimEnd()}${eol(text)}${member}${eol(text)}${outer}${text.slice(close)}`;
}

function at(text: string, place: number, added: string, end: number): string {
  return text.slice(0, place) + added + text.slice(place, end);
}

const LINE_COMMENT = 12;
const BLOCK_COMMENT = 13;
const COMMA = 5;
const END = 17;

function tokens(text: string): { kind: number; value: string }[] {
  const scanner = createScanner(text);
  const found = [];
  for (let kind: number = scanner.scan(); kind !== END; kind = scanner.scan())
    found.push({ kind, value: scanner.getTokenValue() });
  return found;
}

function comments(text: string): string[] {
  const ours = tokens(text).filter(({ kind }) => kind === LINE_COMMENT || kind === BLOCK_COMMENT);
  return ours.map(({ value }) => value);
}

function commaFollows(text: string): boolean {
  return tokens(text).some(({ kind }) => kind === COMMA);
}

function keepsTheRest(before: string, after: string, way: readonly string[], value: object): boolean {
  const errors: ParseError[] = [];
  const now: unknown = parse(after, errors, LENIENT);
  const wanted = merged(parse(before, [], LENIENT), way, value);
  return errors.length === 0 && isDeepStrictEqual(now, wanted) && isDeepStrictEqual(comments(before), comments(after));
}

function merged(whole: unknown, [key, ...rest]: readonly string[], value: object): unknown {
  if (key === undefined) return value;
  const object = (whole ?? {}) as Record<string, unknown>;
  return { ...object, [key]: merged(object[key], rest, value) };
}

function printed(text: string, value: unknown, indent: string): string {
  return JSON.stringify(value, undefined, unit(text)).replaceAll("\n", eol(text) + indent);
}

function oneLine(value: unknown): string {
  return JSON.stringify(value, undefined, 1).replaceAll(/\n\s*/g, " ");
}

function unit(text: string): string {
  return /^([ \t]+)["}]/m.exec(text)?.[1] ?? "  ";
}

function eol(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}
