// Texts that are shown in the editor without being files.
import * as vscode from "vscode";

const SCHEME = "sidecar-text";

export class VirtualTexts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changes = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changes.event;
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  /** The name's extension decides the highlighting; the same name again replaces the text. */
  keep(name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}` });
    this.texts.set(uri.toString(), text);
    this.changes.fire(uri);
    return uri;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  dispose(): void {
    this.registration.dispose();
    this.changes.dispose();
  }
}
