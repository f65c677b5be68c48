// What every feature is given when it registers, and the list of features.
import type * as vscode from "vscode";
import type { Log } from "./log";
import type { Programs } from "./setup/programs";
import type { Sidecar } from "./sidecar";

export interface Features {
  readonly extension: vscode.ExtensionContext;
  readonly sidecar: Sidecar;
  readonly log: Log;
  readonly programs: Programs;
}

export type Register = (context: Features) => vscode.Disposable[];
