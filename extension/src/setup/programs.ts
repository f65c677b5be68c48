// The place of this window's sidecar: the person's own, or that of the private environment, which is made if missing.
import { access, constants } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import * as vscode from "vscode";
import type { Log } from "../log";
import type { Program } from "../server/program";
import { launchSettings } from "../settings";
import { Agreement, type Place } from "./agreement";
import { Environment } from "./environment";
import { expand } from "./expand";
import { isInPath } from "./path";
import { SetUpProblem, remedies, type Remedy } from "./problem";
import { findPython } from "./python";
import { selectedPython } from "./pythonExtension";
import { run } from "./run";
import { carriedWheel } from "./wheel";
import { place, said } from "../shown";
import { failed, tell } from "../tell";

const SET_UP = "Set Up";
const PYTHON_PAGE = "https://www.python.org/downloads/";

export class Programs {
  private readonly agreement: Agreement;

  constructor(
    private readonly extension: vscode.ExtensionContext,
    private readonly log: Log,
    private readonly again: () => void,
    /** Called with what the set-up is doing; undefined: it is over. */
    private readonly step: (message: string | undefined) => void,
  ) {
    this.agreement = new Agreement(again);
  }

  /** To be called before a start that the person has asked for: what has to be agreed to is asked before their eyes. */
  wanted(): void {
    this.agreement.wanted();
  }

  /** Rejects with a `SetUpProblem` that has already been shown to the person. */
  async find(): Promise<Program> {
    try {
      return await this.locate();
    } catch (error) {
      if (error instanceof SetUpProblem && !error.isChoice) void this.tell(error);
      throw error;
    }
  }

  /**
   * What a file that others may read names: the bare name where the shell finds a sidecar by it, which every machine of a
   * team can have, else as `forAgents`.
   */
  async forSettings(): Promise<string> {
    return (await isInPath("sidecar", process.env, process.platform)) ? "sidecar" : this.forAgents();
  }

  /** The program that an agent's settings name: it outlives updates of the extension. Makes nothing. */
  async forAgents(): Promise<string> {
    const own = this.own();
    return own ?? (await this.environment()).launcher;
  }

  /** Removes the private environment; the next `find` makes it anew, for the person has asked for that. */
  async forget(): Promise<void> {
    const environment = await this.environment();
    await environment.forget(this.step);
    this.step(undefined);
    this.agreement.give();
  }

  private async locate(): Promise<Program> {
    const place = this.agreement.begin();
    const agreed = this.agreement.take();
    const { environment: env } = launchSettings();
    const own = this.own();
    if (own !== undefined) {
      await checkRuns(own);
      return { command: own, args: [], env };
    }
    const environment = await this.environment();
    if (!(await environment.isComplete())) {
      if (!agreed) return this.askFor(environment, place);
      await this.make(environment);
    }
    await environment.used().catch((error: unknown) => this.log.warn(String(error)));
    return { command: environment.program, args: [], env };
  }

  private own(): string | undefined {
    const { path } = launchSettings();
    return path === "" ? undefined : expand(path, variables());
  }

  private async environment(): Promise<Environment> {
    const wanted = expand(launchSettings().python, variables());
    return new Environment({
      storage: this.extension.globalStorageUri.fsPath,
      wheel: await carriedWheel(this.extension.extensionPath),
      wanted,
      platform: process.platform,
      run,
      findPython: () => findPython(run, { setting: wanted, selected: selectedPython, platform: process.platform }),
    });
  }

  /** Says what it will download before it does so; until then nothing runs. */
  private async askFor(environment: Environment, place: Place): Promise<never> {
    await environment.checkPython();
    void this.agreement.ask(place, (where) => agrees(environment, where));
    throw new SetUpProblem("not-agreed", "Sidecar is not set up yet: Restart says what it would fetch.");
  }

  private make(environment: Environment): Thenable<void> {
    const options = { location: vscode.ProgressLocation.Notification, title: "Sidecar set-up", cancellable: true };
    const made = vscode.window.withProgress(options, async (progress, token) => {
      const stop = new AbortController();
      token.onCancellationRequested(() => stop.abort());
      await environment.make({
        step: (message) => {
          progress.report({ message });
          this.step(message);
        },
        log: (line) => this.log.info(line),
        signal: stop.signal,
      });
    });
    const over = (): void => this.step(undefined);
    void made.then(over, over);
    return made;
  }

  private async tell(problem: SetUpProblem): Promise<void> {
    const chosen = await tell.error(failed(problem), ...remedies(problem));
    if (chosen !== undefined) await this.remedy(chosen);
  }

  private async remedy(chosen: Remedy): Promise<void> {
    const actions: Record<Remedy, () => unknown> = {
      "Try Again": this.again,
      "Open Settings": () =>
        vscode.commands.executeCommand("workbench.action.openSettings", "@ext:sidecar-search.sidecar"),
      "Get Python": () => vscode.env.openExternal(vscode.Uri.parse(PYTHON_PAGE)),
      "Show Log": () => this.log.show(),
    };
    await actions[chosen]();
  }
}

/** Says what would be fetched, how much, and where to. */
async function agrees({ wheel, folder }: Environment, where: Place): Promise<boolean> {
  const { fetched, installed } = wheel.megabytes;
  const needs = said`Sidecar needs a Python environment of its own, once.`;
  const means = said`It fetches about ${fetched} MB from Python's package index (pypi.org, or the one in pip's configuration) and puts ${installed} MB into ${place(folder)}. Your code stays here.`;
  const chosen =
    where === "dialog"
      ? await tell.dialog(needs, [means], SET_UP)
      : await tell.info(said`${needs} ${means}`, SET_UP, "Not Now");
  return chosen === SET_UP;
}

function variables() {
  return { home: homedir(), workspace: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath, env: process.env };
}

async function checkRuns(path: string): Promise<void> {
  // Whoever starts it looks a bare name up in PATH.
  if (!isAbsolute(path) && !/[/\\]/.test(path)) return;
  const problem = (what: string): SetUpProblem =>
    new SetUpProblem("no-program", `${path} (setting sidecar.path) ${what}`);
  if (!isAbsolute(path)) throw problem("is not an absolute path.");
  await access(path, constants.X_OK).catch(() => {
    throw problem("does not exist, or is not a program.");
  });
}
