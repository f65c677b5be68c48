// The private environment: a Python environment of the extension's own with the sidecar that the extension carries.
// One folder for each wheel and chosen Python; a file in it says that it is complete.
import { createHash } from "node:crypto";
import { access, chmod, mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { alone } from "./lock";
import { SetUpProblem, pipProblem } from "./problem";
import type { Python } from "./python";
import type { Run } from "./run";

export interface Wheel {
  file: string;
  sha256: string;
}

export interface Report {
  step(message: string): void;
  log: (line: string) => void;
  signal: AbortSignal;
}

export interface Parts {
  /** The folder that is the extension's to keep. */
  storage: string;
  wheel: Wheel;
  /** The setting `sidecar.python`: another one, another environment. */
  wanted: string;
  platform: NodeJS.Platform;
  run: Run;
  findPython: () => Promise<Python>;
}

const COMPLETE = "complete";
const UNUSED_DAYS = 14;
const DAY_MS = 86_400_000;

export class Environment {
  readonly folder: string;
  readonly program: string;
  private readonly all: string;
  private readonly windows: boolean;

  constructor(private readonly parts: Parts) {
    this.windows = parts.platform === "win32";
    this.all = join(parts.storage, "environments");
    const name = createHash("sha256").update(`${parts.wheel.sha256}\n${parts.wanted}`).digest("hex").slice(0, 12);
    this.folder = join(this.all, name);
    this.program = this.inside("sidecar");
  }

  /** Where agents find the sidecar whatever the extension's version. */
  get launcher(): string {
    return join(this.parts.storage, this.windows ? "sidecar.cmd" : "sidecar");
  }

  async isComplete(): Promise<boolean> {
    return (await exists(join(this.folder, COMPLETE))) && (await exists(this.inside("python"))) && exists(this.program);
  }

  /** Makes it if it is not there; windows that come meanwhile wait for the first. Rejects with `SetUpProblem`. */
  async make(report: Report): Promise<void> {
    const waiting = (): void => report.step("Another window is preparing Sidecar…");
    const lock = `${this.folder}.lock`;
    try {
      await alone(lock, async () => (await this.isComplete()) || this.makeAnew(report), waiting, report.signal);
    } catch (error) {
      if (report.signal.aborted) throw new SetUpProblem("cancelled", "The set-up was cancelled.");
      throw error;
    }
  }

  /** Says that it is in use, points the launcher to it, and removes environments that have long not been. */
  async used(): Promise<void> {
    const now = new Date();
    await utimes(join(this.folder, COMPLETE), now, now);
    await this.writeLauncher();
    for (const name of await readdir(this.all)) {
      const folder = join(this.all, name);
      const last = await stat(join(folder, COMPLETE)).catch(() => undefined);
      const old = last !== undefined && now.getTime() - last.mtimeMs > UNUSED_DAYS * DAY_MS;
      if (old) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    }
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  private async makeAnew(report: Report): Promise<void> {
    const { run, wheel, findPython } = this.parts;
    report.step("Looking for Python…");
    const python = await findPython();
    report.log(`environment ${this.folder} with ${python.command} (Python ${python.version})`);
    await this.remove();
    await mkdir(this.all, { recursive: true });
    const heard = { onLine: report.log, signal: report.signal };
    report.step(`Making an environment with Python ${python.version}…`);
    const made = await run(python.command, ["-m", "venv", this.folder], heard);
    if (made.status !== 0) throw this.failed(made.output);
    report.step("Installing (once)…");
    const onLine = (line: string): void => {
      report.log(line);
      const step = stepOf(line);
      if (step !== undefined) report.step(step);
    };
    const installed = await run(this.inside("python"), [...PIP, wheel.file], { onLine, signal: report.signal });
    if (installed.status !== 0) throw this.failed(installed.output);
    await writeFile(join(this.folder, COMPLETE), `${wheel.sha256}\nPython ${python.version}\n`);
  }

  private failed(output: string): SetUpProblem {
    return pipProblem(output);
  }

  private inside(program: string): string {
    return this.windows ? join(this.folder, "Scripts", `${program}.exe`) : join(this.folder, "bin", program);
  }

  private async writeLauncher(): Promise<void> {
    const text = this.windows
      ? `@echo off\r\n"${this.program}" %*\r\n`
      : `#!/bin/sh\nexec '${this.program.replaceAll("'", "'\\''")}' "$@"\n`;
    const aside = `${this.launcher}.${process.pid}`;
    await writeFile(aside, text);
    await chmod(aside, 0o755);
    await rename(aside, this.launcher);
  }
}

/** Python compiles what is imported when it first is; all at once takes as long as everything else of the set-up. */
const PIP = [
  ...["-I", "-m", "pip", "install", "--no-compile", "--no-input"],
  ...["--disable-pip-version-check", "--progress-bar=off"],
];

/** What a line of pip's means to somebody who waits. */
export function stepOf(line: string): string | undefined {
  const collecting = /^\s*Collecting ([A-Za-z0-9._-]+)/.exec(line)?.[1];
  if (collecting !== undefined) return `Fetching ${collecting}…`;
  return line.startsWith("Installing collected packages") ? "Installing what was fetched…" : undefined;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
