// The commands on an index. The sidecar itself asks before anything is lost, whoever has given the command.
import { counted, grouped } from "../counts";
import * as vscode from "vscode";
import { type Failure, asFailure } from "../failure";
import type { Features } from "../features";
import type { BuildStats, CreateResult, ReindexResult } from "../protocol.gen";
import type { Sidecar } from "../sidecar";
import { adviceForError } from "../search/advice";
import { type Sentence, fromSidecar, place, said } from "../shown";
import { tell } from "../tell";
import { duration } from "../time";
import type { Builds } from "./builds";
import { cancelIn, cancelIndexing } from "./cancelling";
import { explained } from "./explanation";
import { type FileInFolder, fileFor, folderFor, nameOf } from "./folders";
import { canCancel } from "./offers";

export function registerCommands(features: Features, builds: Builds): vscode.Disposable[] {
  const { sidecar } = features;
  const command = (name: string, run: (...given: unknown[]) => Promise<void>) =>
    vscode.commands.registerCommand(name, (...given: unknown[]) => guarded(() => run(...given)));
  return [
    command("sidecar.createIndex", (given) => build(sidecar, builds, "create", given)),
    command("sidecar.indexHere", (given) => indexHere(sidecar, builds, given)),
    command("sidecar.reindexProject", (given) => build(sidecar, builds, "reindex", given)),
    command("sidecar.cancelIndexing", (given) => cancelIndexing(sidecar, builds, given)),
    command("sidecar.deleteIndex", (given) => remove(sidecar, given)),
    command("sidecar.reindexFile", (given) => reindexFile(sidecar, given)),
    command("sidecar.explainPath", (given, path) => explain(sidecar, given, path)),
  ];
}

const QUIET: readonly string[] = ["CANCELLED"];

async function guarded(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    const failure = asFailure(error);
    if (!QUIET.includes(failure.code)) await complain(failure);
  }
}

/** Offers the same as the palette does for the same failure. */
async function complain(failure: Failure): Promise<void> {
  const { detail, command } = adviceForError(failure);
  const help = command === undefined ? [] : [command.title];
  const chosen = await tell.error(said`Sidecar: ${fromSidecar(detail)}`, ...help);
  if (command !== undefined && chosen === command.title) await vscode.commands.executeCommand(command.id);
}

/** In place of what starts from a snapshot here, if something does. */
async function indexHere(sidecar: Sidecar, builds: Builds, given: unknown): Promise<void> {
  const folder = await folderFor(given);
  if (folder === undefined) return;
  const uri = folder.uri.toString();
  if (canCancel(sidecar.statuses.get(uri), builds.has(uri))) await cancelIn(sidecar, builds, uri);
  await untilIdle(sidecar, uri);
  await build(sidecar, builds, "here", uri);
}

/** A job that was cancelled ends some time after its call has, and until then another one is refused. */
function untilIdle(sidecar: Sidecar, folder: string): Promise<void> {
  if (sidecar.statuses.get(folder)?.status !== "indexing") return Promise.resolve();
  return new Promise((done) => {
    const idle = (): void => {
      clearTimeout(timer);
      listener.dispose();
      done();
    };
    const timer = setTimeout(idle, PATIENCE_MS);
    const listener = sidecar.onStatus(({ uri, status }) => {
      if (vscode.Uri.parse(uri).toString() === folder && status !== "indexing") idle();
    });
  });
}

const PATIENCE_MS = 30_000;

type Deed = "create" | "here" | "reindex";
const METHODS = {
  create: "sidecar/createIndex",
  here: "sidecar/indexHere",
  reindex: "sidecar/reindexProject",
} as const satisfies Record<Deed, string>;

async function build(sidecar: Sidecar, builds: Builds, deed: Deed, given: unknown): Promise<void> {
  const folder = await folderFor(given);
  if (folder === undefined) return;
  const params = { workspace: folder.uri.toString() };
  const result = await builds.during<CreateResult | ReindexResult>(params.workspace, (token) =>
    deed === "reindex"
      ? sidecar.call(METHODS[deed], params, token)
      : sidecar.agreed(folder.uri.fsPath, () => sidecar.call(METHODS[deed], params, token)),
  );
  if (result.status === "cancelled") return;
  const chosen = await tell.info(
    said`${nameOf(folder)} is indexed: ${fromSidecar(summary(result.stats, result.docsStats?.filesIndexed ?? 0))}.${notice(result)}`,
    "Search Code",
    "Show Index Status",
  );
  if (chosen === "Search Code") await vscode.commands.executeCommand("sidecar.searchCode");
  if (chosen === "Show Index Status")
    await vscode.commands.executeCommand("sidecar.showIndexStatus", folder.uri.toString());
}

/** For example, from which snapshot a new index started, or why from none. */
function notice(result: CreateResult | ReindexResult): Sentence {
  const message = "message" in result ? result.message : undefined;
  return fromSidecar(message === undefined ? "" : ` ${message}`);
}

function summary(stats: BuildStats, docs: number): string {
  const withheld = stats.filesWithheld ?? 0;
  return [
    `${counted(stats.filesIndexed + docs, "file")} in ${duration(stats.durationMs / 1000)}`,
    ...(withheld > 0 ? [`${grouped(withheld)} withheld as secrets`] : []),
    ...(stats.errorCount > 0 ? [`${grouped(stats.errorCount)} could not be read`] : []),
  ].join(", ");
}

async function remove(sidecar: Sidecar, given: unknown): Promise<void> {
  const folder = await folderFor(given);
  if (folder === undefined) return;
  const result = await sidecar.call("sidecar/deleteIndex", { workspace: folder.uri.toString() });
  if (result.status === "deleted")
    void tell.info(said`The index of ${nameOf(folder)} has been deleted. Your files were not touched.`);
}

async function reindexFile(sidecar: Sidecar, given: unknown): Promise<void> {
  const file = fileFor(given);
  if (file === undefined) return noFile();
  const params = { file_path: file.path, workspace: file.folder.uri.toString() };
  const { status, chunksCreated } = await sidecar.call("sidecar/reindexFile", params);
  const done = status === "removed" ? "removed from the index" : `indexed again, ${counted(chunksCreated, "chunk")}`;
  tell.briefly("check", said`${place(file.path)}: ${fromSidecar(done)}`);
}

async function explain(sidecar: Sidecar, given: unknown, path: unknown): Promise<void> {
  const file = typeof path === "string" ? await listedFile(given, path) : fileFor(given);
  if (file === undefined) return noFile();
  const answer = await sidecar.call("sidecar/explainPath", { path: file.path, workspace: file.folder.uri.toString() });
  const { headline, details, wrong } = explained(answer);
  const help = answer.indexed && (wrong || answer.inIndex) ? ["Reindex This File"] : [];
  const chosen = await tell.dialog(headline, details, ...help, "Show Index Status");
  if (chosen === "Reindex This File")
    await vscode.commands.executeCommand("sidecar.reindexFile", vscode.Uri.joinPath(file.folder.uri, file.path));
  if (chosen === "Show Index Status")
    await vscode.commands.executeCommand("sidecar.showIndexStatus", file.folder.uri.toString());
}

async function listedFile(given: unknown, path: string): Promise<FileInFolder | undefined> {
  const folder = await folderFor(given);
  return folder === undefined ? undefined : { folder, path };
}

function noFile(): Promise<void> {
  void tell.info(said`Sidecar: open a file inside an open folder first.`);
  return Promise.resolve();
}
