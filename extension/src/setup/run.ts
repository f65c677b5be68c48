// Runs a program to its end and passes on its lines.
import { spawn } from "node:child_process";

export interface Ran {
  /** Undefined: it could not be started. */
  status: number | undefined;
  output: string;
}

export interface RunOptions {
  onLine?: (line: string) => void;
  signal?: AbortSignal;
  env?: NodeJS.ProcessEnv;
}

export type Run = (command: string, args: readonly string[], options?: RunOptions) => Promise<Ran>;

/** Never rejects. Aborting the signal ends the program. Settles when it has ended, and writes nothing any more. */
export const run: Run = (command, args, options = {}) =>
  new Promise((settle) => {
    let output = "";
    let rest = "";
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      ...(options.signal && { signal: options.signal }),
      ...(options.env && { env: options.env }),
    });
    const heard = (bytes: Buffer): void => {
      const text = bytes.toString("utf8");
      output += text;
      const lines = (rest + text).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) options.onLine?.(line);
    };
    child.stdout.on("data", heard);
    child.stderr.on("data", heard);
    let failure: Error | undefined;
    child.on("error", (error) => (failure ??= error));
    child.on("close", (status) =>
      settle(
        failure === undefined
          ? { status: status ?? 1, output }
          : { status: undefined, output: output + String(failure) },
      ),
    );
  });
