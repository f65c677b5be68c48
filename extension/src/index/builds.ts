// The indexing that somebody has begun in this window, which can be cancelled here.
import * as vscode from "vscode";

const BUILDING = "sidecar.building";

export class Builds implements vscode.Disposable {
  private readonly running = new Map<string, vscode.CancellationTokenSource>();
  private readonly ends = new Map<string, Promise<unknown>>();
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changes.event;

  /** Whether one runs for the folder, by its URI as text. */
  has(folder: string): boolean {
    return this.running.has(folder);
  }

  /** Runs `work` with what cancels it. The sidecar refuses a second one for a folder. */
  async during<T>(folder: string, work: (token: vscode.CancellationToken) => Promise<T>): Promise<T> {
    const source = new vscode.CancellationTokenSource();
    if (!this.running.has(folder)) this.running.set(folder, source);
    this.changed();
    const result = work(source.token);
    if (this.running.get(folder) === source) this.ends.set(folder, result);
    try {
      return await result;
    } finally {
      if (this.running.get(folder) === source) this.running.delete(folder);
      source.dispose();
      this.changed();
    }
  }

  /** Ends the one of a folder; without a folder, all of this window. */
  cancel(folder?: string): void {
    for (const [of, source] of this.running) if (folder === undefined || folder === of) source.cancel();
  }

  /** Cancels the one of a folder and waits until it has ended. */
  async end(folder: string): Promise<void> {
    this.cancel(folder);
    await this.ends.get(folder)?.catch(() => undefined);
  }

  dispose(): void {
    this.cancel();
    this.changes.dispose();
  }

  private changed(): void {
    void vscode.commands.executeCommand("setContext", BUILDING, this.running.size > 0);
    this.changes.fire();
  }
}
