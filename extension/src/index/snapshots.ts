// The team snapshots that new indexes of the open folders would start from. Only the sidecar asks for them.
import * as vscode from "vscode";
import type { OfferedSnapshot } from "../protocol.gen";
import type { Sidecar } from "../sidecar";
import { UNKNOWN, hasOne, startText } from "./snapshotText";

const PATIENCE_MS = 10_000;

export class Snapshots implements vscode.Disposable {
  private readonly looking = new Map<string, Promise<OfferedSnapshot>>();
  private readonly found = new Map<string, OfferedSnapshot>();
  private readonly changes = new vscode.EventEmitter<void>();
  private readonly listeners: vscode.Disposable[];
  readonly onDidChange = this.changes.event;

  constructor(private readonly sidecar: Sidecar) {
    this.listeners = [
      sidecar.onStatus(({ uri, status, totalFiles }) => {
        const folder = vscode.Uri.parse(uri).toString();
        if (status === "not_found") void this.look(folder);
        // While it is being downloaded, the index has no file yet.
        else if (status !== "indexing" || (totalFiles ?? 0) > 0) this.forget(folder);
      }),
      // When the sidecar runs again, another source may be set.
      sidecar.onDidChangeState((state) => {
        if (state !== "running") this.forget(...this.looking.keys());
      }),
    ];
  }

  dispose(): void {
    for (const listener of this.listeners) listener.dispose();
    this.changes.dispose();
  }

  /** Asks once while a folder has no index. The folder is given by its URI as text, as below. */
  look(folder: string): Promise<OfferedSnapshot> {
    const begun = this.looking.get(folder);
    if (begun !== undefined) return begun;
    const look = this.ask(folder);
    this.looking.set(folder, look);
    void look.then((offer) => {
      if (this.looking.get(folder) !== look) return;
      this.found.set(folder, offer);
      this.changed();
    });
    return look;
  }

  /** From which snapshot a new index would start, or why from none; undefined: no source, or not known yet. */
  says(folder: string | undefined, now: number): string | undefined {
    const offer = folder === undefined ? undefined : this.found.get(folder);
    return offer === undefined ? undefined : startText(offer, now)?.text;
  }

  /** Whether a new index of a folder would start from one, or starts from it now. */
  has(folder: string | undefined): boolean {
    const offer = folder === undefined ? undefined : this.found.get(folder);
    return offer !== undefined && hasOne(offer);
  }

  private forget(...folders: string[]): void {
    const known = folders.filter((folder) => this.looking.delete(folder));
    for (const folder of known) this.found.delete(folder);
    if (known.length > 0) this.changed();
  }

  private async ask(folder: string): Promise<OfferedSnapshot> {
    const tired = new vscode.CancellationTokenSource();
    const timer = setTimeout(() => tired.cancel(), PATIENCE_MS);
    try {
      return await this.sidecar.call("sidecar/findSnapshot", { workspace: folder }, tired.token);
    } catch {
      return UNKNOWN;
    } finally {
      clearTimeout(timer);
      tired.dispose();
    }
  }

  private changed(): void {
    const there = [...this.found.values()].some(hasOne);
    void vscode.commands.executeCommand("setContext", "sidecar.snapshot", there);
    this.changes.fire();
  }
}
