// The private environment: a Python environment of the extension's own with the sidecar that the extension carries.
// One folder for each wheel and chosen Python; a file in it says that it is complete.
import { createHash } from "node:crypto";
import { access, chmod, mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { alone } from "./lock";
import { SetUpProblem, pipProblem } from "./problem";
import { PipProgress } from "./progress";
import type { Python } from "./python";
import type { Run } from "./run";

export interface Wheel {
  file: string;
  sha256: string;
  /** A list of everything that it needs, each with its version and the hashes of its files. */
  requirements: string;
  /** Megabytes that are downloaded, and that are then on disk. */
  megabytes: { fetched: number; installed: number };
}

export interface Report {
  step: (message: string) => void;
  log: (line: string) => void;
  signal: AbortSignal;
}

export interface Parts {
  /** The extension's storage folder. */
  storage: string;
  wheel: Wheel;
  /** The setting `sidecar.python`. Each value has an environment of its own. */
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
  readonly wheel: Wheel;
  private readonly all: string;
  private readonly windows: boolean;

  constructor(private readonly parts: Parts) {
    this.wheel = parts.wheel;
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
    const makeOnce = async () => (await this.isComplete()) || this.makeWhole(report);
    try {
      await this.alone(makeOnce, report.step, report.signal);
    } catch (error) {
      if (report.signal.aborted)
        throw new SetUpProblem("cancelled", "The set-up was cancelled. Restart begins it anew.");
      throw error;
    }
  }

  /** Checks that there is a Python to make it with. Rejects with `SetUpProblem`. */
  async checkPython(): Promise<void> {
    await this.parts.findPython();
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

  /** Removes it, after another window that is just making it. `step` is told what is waited for. */
  async forget(step: Report["step"]): Promise<void> {
    await this.alone(() => this.remove(), step);
  }

  private async alone(work: () => Promise<unknown>, step: Report["step"], signal?: AbortSignal): Promise<void> {
    const waiting = (): void => step("Another window is preparing Sidecar…");
    await alone(`${this.folder}.lock`, work, { waiting, ...(signal && { signal }) });
  }

  /** Only for whoever has the lock: the folder may be another window's. */
  private async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  /** Leaves nothing behind if it is cancelled. */
  private async makeWhole(report: Report): Promise<void> {
    try {
      await this.makeAnew(report);
    } catch (error) {
      if (report.signal.aborted) await this.remove();
      throw error;
    }
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
    const { fetched } = wheel.megabytes;
    report.step(`Fetching: 0 of ${fetched} MB`);
    const pip = new PipProgress(fetched);
    const onLine = (line: string): void => {
      report.log(line);
      const step = pip.heard(line);
      if (step !== undefined) report.step(step);
    };
    const exact = ["-r", wheel.requirements, `${pathToFileURL(wheel.file).href}#sha256=${wheel.sha256}`];
    const installed = await run(this.inside("python"), [...PIP, ...exact], { onLine, signal: report.signal });
    if (installed.status !== 0) throw this.failed(installed.output);
    // Nothing will be installed into it any more. If one of these steps fails, that costs space and nothing else.
    report.step("Removing what is not needed…");
    await run(this.inside("python"), WITHOUT_PIP, heard);
    await run(this.inside("python"), [...LEAN, this.folder], heard);
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

/**
 * Exactly the files that the tests ran with, and none that a library names and nothing imports. Python compiles what is
 * imported when it first is; all at once takes as long as everything else of the set-up.
 */
const PIP = [
  ...["-I", "-m", "pip", "install", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile"],
  ...["--no-input", "--disable-pip-version-check", "--progress-bar=off"],
];
const LEAN = ["-I", "-m", "sidecar.lean"];
const WITHOUT_PIP = ["-I", "-m", "pip", "uninstall", "--yes", "--quiet", "pip", "setuptools"];

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
