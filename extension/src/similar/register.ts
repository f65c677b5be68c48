// "Similar code" as a code action, and above definitions if the person has switched that on.
import * as vscode from "vscode";
import type { Features } from "../features";
import type { Spot } from "../search/find";
import type { Sidecar } from "../sidecar";
import { Again } from "./again";

const LENS = "sidecar.similarCodeLens";
const KIND = vscode.CodeActionKind.Empty.append("sidecar.similar");
const FILES: vscode.DocumentSelector = { scheme: "file" };
const KINDS: ReadonlySet<vscode.SymbolKind> = new Set([
  vscode.SymbolKind.Class,
  vscode.SymbolKind.Constructor,
  vscode.SymbolKind.Function,
  vscode.SymbolKind.Method,
]);

export function register({ sidecar }: Features): vscode.Disposable[] {
  const lenses = new SimilarLenses(sidecar);
  return [
    vscode.languages.registerCodeActionsProvider(FILES, new SimilarActions(sidecar), {
      providedCodeActionKinds: [KIND],
    }),
    vscode.languages.registerCodeLensProvider(FILES, lenses),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(LENS)) lenses.changed();
    }),
    lenses,
  ];
}

class SimilarActions implements vscode.CodeActionProvider {
  constructor(private readonly sidecar: Sidecar) {}

  /** Only when the person asks for actions; otherwise a light bulb would be shown beside every line. */
  provideCodeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    { triggerKind }: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    if (triggerKind !== vscode.CodeActionTriggerKind.Invoke) return [];
    const spot = spotOf(this.sidecar, document, range);
    if (spot === undefined) return [];
    const action = new vscode.CodeAction("Find Similar Code with Sidecar", KIND);
    action.command = { command: "sidecar.findSimilar", title: action.title, arguments: [spot] };
    return [action];
  }
}

class SimilarLenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changes.event;
  /** A language's extension may start long after the file is shown, and no event reports that. */
  private readonly again = new Again(
    () => this.changes.fire(),
    (run, milliseconds) => {
      const timer = setTimeout(run, milliseconds);
      return () => clearTimeout(timer);
    },
  );
  private readonly closing = vscode.workspace.onDidCloseTextDocument(({ uri }) => this.again.forget(uri.toString()));

  constructor(private readonly sidecar: Sidecar) {}

  changed(): void {
    this.again.forget();
    this.changes.fire();
  }

  /** The definitions come from the language's own extension. */
  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    if (!vscode.workspace.getConfiguration().get<boolean>(LENS, false)) return [];
    if (this.sidecar.workspaceOf(document.uri) === undefined) return [];
    const command = "vscode.executeDocumentSymbolProvider";
    const found = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(command, document.uri);
    const name = document.uri.toString();
    if (found === undefined || found.length === 0) this.again.missing(name);
    else this.again.forget(name);
    return definitions(found ?? []).flatMap(({ range, selectionRange }) => {
      const spot = spotOf(this.sidecar, document, range);
      if (spot === undefined) return [];
      const shown = {
        title: "Similar code",
        tooltip: "Find code like this with Sidecar",
        command: "sidecar.findSimilar",
      };
      return [new vscode.CodeLens(selectionRange, { ...shown, arguments: [spot] })];
    });
  }

  dispose(): void {
    this.closing.dispose();
    this.again.forget();
    this.changes.dispose();
  }
}

function definitions(symbols: readonly vscode.DocumentSymbol[]): vscode.DocumentSymbol[] {
  return symbols.flatMap((symbol) => [...(KINDS.has(symbol.kind) ? [symbol] : []), ...definitions(symbol.children)]);
}

/** For a cursor, the passage around it; for a selection or a definition, its lines. */
function spotOf(sidecar: Sidecar, document: vscode.TextDocument, range: vscode.Range): Spot | undefined {
  const folder = sidecar.workspaceOf(document.uri);
  if (folder === undefined) return undefined;
  const path = document.uri.path.slice(folder.uri.path.length + 1);
  const spot = { workspace: folder.uri.fsPath, path, line: range.start.line + 1 };
  return range.isEmpty ? spot : { ...spot, endLine: lastLineOf(range) + 1 };
}

/** A selection that ends before the first character of a line does not mean that line. */
function lastLineOf({ start, end }: vscode.Range): number {
  return Math.max(start.line, end.character === 0 ? end.line - 1 : end.line);
}
