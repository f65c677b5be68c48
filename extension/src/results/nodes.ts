// The rows of the results view: files, their hits, and below each hit its lines and why it was found.
import type { ExcerptLine } from "../protocol.gen";
import type { PlacedHit } from "../sidecar";
import { linesOf } from "../search/excerpt";
import type { FileGroup } from "./groups";
import { type Reason, reasonsOf } from "./why";

export interface FileNode {
  type: "file";
  group: FileGroup;
}
export interface HitNode {
  type: "hit";
  hit: PlacedHit;
  parent: FileNode;
}
export interface LineNode {
  type: "line";
  line: ExcerptLine;
  parent: HitNode;
}
export interface WhyNode {
  type: "why";
  parent: HitNode;
}
export interface ReasonNode {
  type: "reason";
  reason: Reason;
  parent: WhyNode;
}
export type Node = FileNode | HitNode | LineNode | WhyNode | ReasonNode;

export function childrenOf(node: Node): Node[] {
  switch (node.type) {
    case "file":
      return node.group.hits.map((hit) => ({ type: "hit", hit, parent: node }));
    case "hit":
      return [...furtherLines(node), ...(hasReasons(node.hit) ? [{ type: "why" as const, parent: node }] : [])];
    case "why":
      return reasonNodes(node);
    default:
      return [];
  }
}

export function parentOf(node: Node): Node | undefined {
  return node.type === "file" ? undefined : node.parent;
}

/** The hit to which a row belongs; for a file, its first hit. */
export function hitOf(node: Node): PlacedHit | undefined {
  switch (node.type) {
    case "file":
      return node.group.hits[0];
    case "hit":
      return node.hit;
    case "reason":
      return node.parent.parent.hit;
    default:
      return node.parent.hit;
  }
}

/** Every hit of these rows, each once. */
export function hitsOf(nodes: readonly Node[]): PlacedHit[] {
  return [...new Set(nodes.flatMap((node) => (node.type === "file" ? node.group.hits : [hitOf(node)])))].filter(
    (hit) => hit !== undefined,
  );
}

export function hasReasons(hit: PlacedHit): boolean {
  return reasonsOf(hit).length > 0;
}

/** The first line of the excerpt is not repeated: it is the hit's own row. */
function furtherLines(node: HitNode): LineNode[] {
  return linesOf(node.hit)
    .slice(1)
    .map((line) => ({ type: "line", line, parent: node }));
}

function reasonNodes(node: WhyNode): ReasonNode[] {
  return reasonsOf(node.parent.hit).map((reason) => ({ type: "reason", reason, parent: node }));
}
