// The results view's tree: what each row looks like and is called.
import * as vscode from "vscode";
import { fromHitWord, highlighted, linesOf } from "../search/excerpt";
import { baseName, kindOf, nameOf } from "../search/kinds";
import { iconForKind } from "../search/items";
import { several, uriOf } from "../search/place";
import { countText, isFile, linesText, pathOf, placeOf, scoreOf } from "../search/row";
import type { PlacedHit } from "../sidecar";
import { groupsOf } from "./groups";
import {
  type FileNode,
  type HitNode,
  type LineNode,
  type Node,
  type ReasonNode,
  childrenOf,
  hasReasons,
  parentOf,
} from "./nodes";
import { whyInOneLine } from "./why";
import { inRow, visible } from "../shown";

const PREVIEW_LINES = 30;

export class ResultsTree implements vscode.TreeDataProvider<Node> {
  private files: FileNode[] = [];
  private readonly changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changes.event;

  show(hits: readonly PlacedHit[]): void {
    this.files = groupsOf(hits).map((group) => ({ type: "file", group }));
    this.refresh();
  }

  refresh(): void {
    this.changes.fire(undefined);
  }

  getChildren(node?: Node): Node[] {
    return node === undefined ? this.files : childrenOf(node);
  }

  getParent(node: Node): Node | undefined {
    return parentOf(node);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    switch (node.type) {
      case "file":
        return fileItem(node);
      case "hit":
        return hitItem(node);
      case "line":
        return lineItem(node);
      case "why":
        return whyItem(node.parent.hit);
      case "reason":
        return reasonItem(node);
    }
  }
}

function fileItem({ group }: FileNode): vscode.TreeItem {
  const { hits } = group;
  const path = inRow(pathOf(group, several()));
  const whole = hits.every(isFile);
  const state = whole ? vscode.TreeItemCollapsibleState.None : vscode.TreeItemCollapsibleState.Expanded;
  const item = new vscode.TreeItem(uriOf(group), state);
  const first = hits[0];
  const place = first === undefined ? "" : placeOf({ ...first, kind: "file" }, several());
  item.label = inRow(baseName(group.path));
  item.description = whole
    ? inRow(place)
    : [inRow(place), `${hits.length}`].filter((part) => part !== "").join("  ·  ");
  item.tooltip = path;
  item.contextValue = whole ? "path" : "file";
  item.iconPath = vscode.ThemeIcon.File;
  item.accessibilityInformation = { label: whole ? path : `${path}, ${countText(hits.length)}` };
  if (first !== undefined && whole) item.command = opening(first);
  return item;
}

function hitItem({ hit }: HitNode): vscode.TreeItem {
  const first = linesOf(hit)[0];
  const text = first === undefined ? [inRow(nameOf(hit))] : first.pieces;
  // A narrow view shows only the beginning: one number, and the text from a little before its first hit word on.
  const label = highlighted(fromHitWord(text), `${first?.line ?? hit.startLine}  `);
  const expandable = linesOf(hit).length > 1 || hasReasons(hit);
  const { Collapsed, None } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(label, expandable ? Collapsed : None);
  item.description = scoreOf(hit);
  item.iconPath = iconForKind(kindOf(hit));
  item.tooltip = tooltipOf(hit);
  item.contextValue = "hit";
  const name = nameOf(hit);
  item.accessibilityInformation = {
    label: `${inRow(kindOf(hit))} ${inRow(name)}, lines ${hit.startLine} to ${hit.endLine}, score ${scoreOf(hit)}: ${text.join("")}`,
  };
  item.command = opening(hit, first?.line);
  return item;
}

function lineItem({ line, parent }: LineNode): vscode.TreeItem {
  const item = new vscode.TreeItem(highlighted(fromHitWord(line.pieces), `${line.line}  `));
  item.contextValue = "line";
  item.accessibilityInformation = { label: `line ${line.line}: ${line.pieces.join("")}` };
  item.command = opening(parent.hit, line.line);
  return item;
}

function whyItem(hit: PlacedHit): vscode.TreeItem {
  const item = new vscode.TreeItem("Why this hit", vscode.TreeItemCollapsibleState.Collapsed);
  item.description = whyInOneLine(hit);
  item.iconPath = new vscode.ThemeIcon("question");
  item.contextValue = "why";
  item.accessibilityInformation = { label: `Why this hit: ${whyInOneLine(hit)}` };
  return item;
}

/** A narrow view shows only the beginning, so the share comes before the words. */
function reasonItem({ reason: { says, share } }: ReasonNode): vscode.TreeItem {
  const item = new vscode.TreeItem(inRow(share === undefined ? says : `${share}  ${says}`));
  if (share === undefined) item.description = "counts against it";
  item.iconPath = new vscode.ThemeIcon(share === undefined ? "remove" : "add");
  item.accessibilityInformation = { label: `${says}, ${share ?? "counts against it"}` };
  return item;
}

function tooltipOf(hit: PlacedHit): vscode.MarkdownString {
  const lines = hit.content.split("\n");
  const shown = lines.slice(0, PREVIEW_LINES).join("\n") + (lines.length > PREVIEW_LINES ? "\n…" : "");
  return new vscode.MarkdownString()
    .appendText(`${visible(pathOf(hit, several()))}:${linesText(hit)}\n`)
    .appendCodeblock(shown, hit.language)
    .appendText(whyInOneLine(hit));
}

function opening(hit: PlacedHit, line?: number): vscode.Command {
  return { command: "sidecar.results.open", title: "Open", arguments: [hit, line] };
}
