// The values that every feature gets when it registers, and the list of features.
import type * as vscode from "vscode";
import type { Choices } from "./choices";
import type { Lasting } from "./lasting";
import type { Log } from "./log";
import type { WaitingQuestions } from "./questions/waiting";
import type { Programs } from "./setup/programs";
import type { Sidecar } from "./sidecar";
import type { VirtualTexts } from "./virtualText";

export interface Features {
  readonly extension: vscode.ExtensionContext;
  readonly sidecar: Sidecar;
  readonly log: Log;
  readonly programs: Programs;
  readonly questions: WaitingQuestions;
  readonly texts: VirtualTexts;
  readonly choices: Lasting<Choices>;
}

export type Register = (context: Features) => vscode.Disposable[];
