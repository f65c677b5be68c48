// The indexing jobs that were started in this window, where they can be cancelled.
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

  /** Runs `work` with a token that cancels it. The sidecar refuses a second job for a folder. */
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

  /** Cancels the job of a folder; without a folder, all jobs of this window. */
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
