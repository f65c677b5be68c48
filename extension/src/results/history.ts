// The view of earlier searches; a click runs one again.
import * as vscode from "vscode";
import { manner } from "../search/find";
import { countText } from "../search/row";
import type { Past, Shelf } from "./shelf";
import { ago } from "../time";
import { asTyped } from "../shown";

const ICONS = { code: "search", docs: "book", symbol: "symbol-class", similar: "copy", path: "file" } as const;

export class HistoryTree implements vscode.TreeDataProvider<Past>, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changes.event;
  private readonly stop: () => void;

  constructor(private readonly shelf: Shelf) {
    this.stop = shelf.onChange(() => this.changes.fire(undefined));
  }

  getChildren(node?: Past): Past[] {
    return node === undefined ? [...this.shelf.history] : [];
  }

  getTreeItem(past: Past): vscode.TreeItem {
    const { asked, results, at } = past;
    const item = new vscode.TreeItem(asTyped(asked.query));
    item.description = [manner(asked), countText(results), ago(at, Date.now())]
      .filter((part) => part !== "")
      .join("  ·  ");
    item.iconPath = new vscode.ThemeIcon(ICONS[asked.subject]);
    item.contextValue = "past";
    item.tooltip = "Search for it again";
    item.accessibilityInformation = { label: `${asTyped(asked.query)}, ${item.description}` };
    item.command = { command: "sidecar.history.run", title: "Search Again", arguments: [past] };
    return item;
  }

  dispose(): void {
    this.stop();
    this.changes.dispose();
  }
}
