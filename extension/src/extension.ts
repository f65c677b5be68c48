// Puts the extension together. Features are registered before the sidecar is started: they work, or say why not,
// whether or not it comes up.
import type * as vscode from "vscode";
import { register as registerActivity } from "./activity/register";
import { register as registerAgents } from "./agents/register";
import { register as registerChat } from "./chat/register";
import { lastingChoices } from "./choices";
import { EditorSidecar } from "./editorSidecar";
import type { Register } from "./features";
import { register as registerIndex } from "./index/register";
import { openLog } from "./log";
import { register as registerQuestions } from "./questions/register";
import { WaitingQuestions } from "./questions/waiting";
import { register as registerSearch } from "./search/register";
import { offerRestart, register as registerServer } from "./server/register";
import { Programs } from "./setup/programs";
import { register as registerSetup } from "./setup/register";
import { register as registerSimilar } from "./similar/register";
import { VirtualTexts } from "./virtualText";

const FEATURES: readonly Register[] = [
  registerSetup,
  registerServer,
  registerQuestions,
  registerSearch,
  registerIndex,
  registerActivity,
  registerAgents,
  registerSimilar,
  registerChat,
];

let stop: () => Promise<void> = () => Promise.resolve();

export function activate(extension: vscode.ExtensionContext): void {
  const log = openLog();
  const programs = new Programs(
    extension,
    log,
    () => void sidecar.restart(),
    (step) => sidecar.setUp(step),
  );
  const questions = new WaitingQuestions();
  const sidecar = new EditorSidecar(
    () => programs.find(),
    log,
    questions,
    (message) => void offerRestart(message, log, () => sidecar.restart()),
  );
  const texts = new VirtualTexts();
  const choices = lastingChoices(extension, log);
  stop = () => sidecar.dispose();
  for (const register of FEATURES)
    extension.subscriptions.push(...register({ extension, sidecar, log, programs, questions, texts, choices }));
  extension.subscriptions.push(texts, ...choices.disposables, log);
  void sidecar.restart();
}

/** The editor awaits it, so the sidecar has time to end. */
export function deactivate(): Promise<void> {
  return stop();
}
