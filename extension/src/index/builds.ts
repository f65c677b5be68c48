// The indexing jobs that were begun in this window.
import * as vscode from "vscode";

export class Builds implements vscode.Disposable {
  private readonly running = new Map<string, vscode.CancellationTokenSource>();
  private readonly ends = new Map<string, Promise<unknown>>();
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changes.event;

  /** Whether one runs for the folder, by its URI as text. */
  has(folder: string): boolean {
    return this.running.has(folder);
  }

  /** Runs `work` with a token that cancels it. The sidecar refuses a second job for a folder. */
  async during<T>(folder: string, work: (token: vscode.CancellationToken) => Promise<T>): Promise<T> {
    const source = new vscode.CancellationTokenSource();
    if (!this.running.has(folder)) this.running.set(folder, source);
    this.changes.fire();
    const result = work(source.token);
    if (this.running.get(folder) === source) this.ends.set(folder, result);
    try {
      return await result;
    } finally {
      if (this.running.get(folder) === source) this.running.delete(folder);
      source.dispose();
      this.changes.fire();
    }
  }

  /** Cancels the one of a folder and waits until its call has ended. */
  async cancel(folder: string): Promise<void> {
    this.running.get(folder)?.cancel();
    await this.ends.get(folder)?.catch(() => undefined);
  }

  /** Cancels nothing: a job goes on without this window where another client is on its folder. */
  dispose(): void {
    this.changes.dispose();
  }
}
