// Connects the platform's AbortSignal with the editor's cancellation token.
import * as vscode from "vscode";

/** Runs with a token that is cancelled when the signal aborts. */
export async function withToken<T>(
  signal: AbortSignal,
  run: (token: vscode.CancellationToken) => Promise<T>,
): Promise<T> {
  const cancelling = new vscode.CancellationTokenSource();
  signal.addEventListener("abort", () => cancelling.cancel());
  try {
    return await run(cancelling.token);
  } finally {
    cancelling.dispose();
  }
}
