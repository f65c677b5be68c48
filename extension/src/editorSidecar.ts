// The sidecar of this window: it starts, restarts and ends with the editor's folders, trust and settings.
import * as vscode from "vscode";
import { connect, type Opening } from "./client";
import { Failure, asFailure } from "./failure";
import type { Log } from "./log";
import type { WaitingQuestions } from "./questions/waiting";
import { TOOLS } from "./protocol.gen";
import { Consents } from "./server/consents";
import { Life } from "./server/life";
import { environmentFor, type Program } from "./server/program";
import { concernsSidecar, launchSettings } from "./settings";
import { SetUpProblem } from "./setup/problem";
import { run } from "./setup/run";
import type { FolderStatus, Notifications, Place, Requests, Sidecar, State } from "./sidecar";
import { type Sentence, said, visible } from "./shown";

/** Rejects with a sentence for the person if there is no program. */
export type FindProgram = () => Promise<Program>;

const CHANGING_NOTHING: ReadonlySet<string> = new Set([
  "sidecar/activity",
  ...TOOLS.filter(({ readOnly, asks }) => readOnly && !asks).map(({ method }) => method),
]);

interface Notification {
  method: keyof Notifications;
  sent: Notifications[keyof Notifications];
}

export class EditorSidecar implements Sidecar, vscode.Disposable {
  readonly statuses = new Map<string, FolderStatus>();
  private readonly states = new vscode.EventEmitter<State>();
  private readonly notifications = new vscode.EventEmitter<Notification>();
  readonly onDidChangeState = this.states.event;
  readonly onStatus: vscode.Event<FolderStatus> = (listener) => this.on("sidecar/status", listener);
  private readonly consents = new Consents();
  private readonly life: Life;
  private renewing = false;
  private settingUp: string | undefined;
  private readonly listeners: vscode.Disposable[];

  constructor(
    private readonly findProgram: FindProgram,
    private readonly log: Log,
    private readonly questions: WaitingQuestions,
    /** A sentence on why it ended unexpectedly or could not be started. */
    private readonly trouble: (message: Sentence) => void,
  ) {
    this.life = new Life({
      reasonToRest,
      connect: () => this.connect(),
      changed: (state) => this.changed(state),
      crashed: () => this.trouble(said`Sidecar has ended unexpectedly, again within a minute.`),
      changesNothing: (method) => CHANGING_NOTHING.has(method),
      now: () => performance.now(),
    });
    this.listeners = [
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.restart()),
      vscode.workspace.onDidChangeWorkspaceFolders((change) => this.foldersChanged(change)),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (concernsSidecar((setting) => change.affectsConfiguration(setting))) void this.restart();
      }),
    ];
  }

  get state(): State {
    return this.life.state;
  }

  get step(): string | undefined {
    return this.settingUp;
  }

  /** Called by the set-up with what it is doing. */
  setUp(step: string | undefined): void {
    this.settingUp = step;
    this.states.fire(this.state);
  }

  get problem(): string | undefined {
    return this.life.problem;
  }

  async call<M extends keyof Requests>(
    method: M,
    params: Requests[M]["params"] & Place,
    token?: vscode.CancellationToken,
  ): Promise<Requests[M]["result"]> {
    return (await this.life.request(method, params, token)) as Requests[M]["result"];
  }

  on<N extends keyof Notifications>(method: N, listener: (sent: Notifications[N]) => void): vscode.Disposable {
    return this.notifications.event((heard) => {
      if (heard.method === method) listener(heard.sent as Notifications[N]);
    });
  }

  workspaceOf(uri: vscode.Uri): vscode.WorkspaceFolder | undefined {
    return vscode.workspace.getWorkspaceFolder(uri);
  }

  agreed<T>(folder: string, work: () => Promise<T>): Promise<T> {
    return this.consents.during(folder, work);
  }

  restart(): Promise<void> {
    return this.life.restart();
  }

  rest(why: string): Promise<void> {
    return this.life.rest(why);
  }

  renew(): Promise<void> {
    this.renewing = reasonToRest() === undefined;
    return this.restart();
  }

  async dispose(): Promise<void> {
    for (const listener of this.listeners) listener.dispose();
    await this.life.dispose();
    this.states.dispose();
    this.notifications.dispose();
  }

  private async connect() {
    try {
      const program = await this.findProgram();
      if (this.renewing) await this.endShared(program);
      this.log.info(`starting ${visible([program.command, ...program.args].join(" "))}`);
      const { options } = launchSettings();
      const { log, consents, questions } = this;
      const heard: Opening["heard"] = (method, sent) => this.heard(method, sent);
      return await connect({ program, options, log, consents, questions, heard });
    } catch (error) {
      if (error instanceof SetUpProblem && error.isChoice) throw new Failure("NOT_SET_UP", error.message);
      this.log.error(visible(asFailure(error).message));
      // The code that makes the private environment has already shown its problems.
      if (!(error instanceof SetUpProblem)) this.trouble(said`Sidecar could not be started.`);
      throw error;
    }
  }

  /** Ends the shared process at a moment when no connection of ours would start it again. It may not be running. */
  private async endShared(program: Program): Promise<void> {
    this.renewing = false;
    const { output } = await run(program.command, [...program.args, "daemon", "stop"], {
      env: environmentFor(program, process.env),
    });
    this.log.info(output.trim());
  }

  private heard<N extends keyof Notifications>(method: N, sent: Notifications[N]): void {
    if (method === "sidecar/status") {
      const status = sent as FolderStatus;
      // Spelled as the editor spells it, because a path can be encoded in more than one way.
      this.statuses.set(vscode.Uri.parse(status.uri).toString(), status);
    }
    this.notifications.fire({ method, sent });
  }

  private changed(state: State): void {
    this.log.info(this.problem === undefined ? state : `${state}: ${visible(this.problem)}`);
    if (state !== "running") this.statuses.clear();
    this.states.fire(state);
  }

  private foldersChanged({ removed }: vscode.WorkspaceFoldersChangeEvent): void {
    for (const folder of removed) this.statuses.delete(folder.uri.toString());
    // The language client tells a running sidecar of folders. It starts with the first folder and ends with the last.
    if ((reasonToRest() === undefined) !== (this.state === "running")) void this.restart();
  }
}

function reasonToRest(): Failure | undefined {
  if (!vscode.workspace.isTrusted)
    return new Failure("NOT_TRUSTED", "This folder is not trusted, so nothing is started in it.");
  const onDisk = (vscode.workspace.workspaceFolders ?? []).some((folder) => folder.uri.scheme === "file");
  return onDisk ? undefined : new Failure("NO_FOLDER", "No folder is open.");
}
