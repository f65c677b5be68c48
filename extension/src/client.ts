// A connection to one sidecar over LSP, made by the editor's own language client.
import type { CancellationToken } from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  TransportKind,
  type LanguageClientOptions,
} from "vscode-languageclient/node";
import type { Log } from "./log";
import type { Connection } from "./server/life";
import { environmentFor, type Program } from "./server/program";
import type { Consents } from "./server/consents";
import { askOwn } from "./questions/list";
import type { Asked, WaitingQuestions } from "./questions/waiting";
import type { Notifications } from "./sidecar";
import { visible } from "./shown";

const STOP_WAIT_MS = 5000;
const NOTIFICATIONS = ["sidecar/status", "sidecar/activityChanged", "sidecar/questionClosed"] as const;

export interface Opening {
  program: Program;
  /** The sidecar's settings, by key. */
  options: Record<string, unknown>;
  log: Log;
  /** The answers to questions that a command of this window has answered already. */
  consents: Consents;
  questions: WaitingQuestions;
  /** Every notification of the sidecar's own. */
  heard: <N extends keyof Notifications>(method: N, sent: Notifications[N]) => void;
}

/** Notifies of nothing by itself: what a person must know is said once, by us, with a way on. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** Rejects with the reason if it cannot be started. */
export async function connect({ program, options, log, consents, questions, heard }: Opening): Promise<Connection> {
  let gone: () => void = () => undefined;
  const ended = new Promise<void>((settle) => (gone = settle));
  const client = new QuietClient(
    "sidecar",
    "Sidecar",
    {
      command: program.command,
      args: program.args,
      transport: TransportKind.stdio,
      options: { env: environmentFor(program, process.env) },
    },
    clientOptions(options, log, () => gone()),
  );
  for (const method of NOTIFICATIONS)
    client.onNotification(method, (sent: Notifications[typeof method]) => heard(method, sent));
  client.onRequest(
    "window/showMessageRequest",
    async (asked: Asked, token: CancellationToken) =>
      consents.answerTo(asked) ?? (asked.own === undefined ? questions.ask(asked, token) : askOwn(asked, token)),
  );
  void ended.then(() => questions.withdrawAll());
  try {
    await client.start();
  } catch (error) {
    await client.dispose(STOP_WAIT_MS).catch(() => undefined);
    throw error;
  }
  return {
    ended,
    // An undefined token would be taken for a second parameter.
    request: (method, params, token) =>
      token === undefined
        ? client.sendRequest(method, params)
        : client.sendRequest(method, params, token as CancellationToken),
    stop: async () => {
      questions.withdrawAll();
      await client.dispose(STOP_WAIT_MS).catch((error: unknown) => log.debug(`stopping: ${visible(String(error))}`));
    },
  };
}

function clientOptions(options: Record<string, unknown>, log: Log, closed: () => void): LanguageClientOptions {
  return {
    documentSelector: [{ scheme: "file" }],
    initializationOptions: options,
    outputChannel: log,
    traceOutputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    progressOnInitialization: false,
    // The status bar item shows the progress of every job, also of jobs that were started elsewhere.
    middleware: { handleWorkDoneProgress: () => undefined },
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        closed();
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
  };
}
