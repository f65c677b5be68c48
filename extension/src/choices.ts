// What a person has chosen for a folder besides its settings. The same in every window on it.
import type * as vscode from "vscode";
import { type Lasting, lasting } from "./lasting";
import type { Log } from "./log";

export interface Choices {
  /** The folders, by URI as text, for which no index is offered any more. */
  never: readonly string[];
  /** `everything`: the Agents view shows the calls of editors too. */
  agents: { everything?: boolean };
}

/** Where earlier versions kept them, in the editor's own storage. */
const FORMER = { never: "sidecar.offeredIndex", everything: "sidecar.activityEverything" } as const;

export function lastingChoices(extension: vscode.ExtensionContext, log: Log): Lasting<Choices> {
  const memory = extension.workspaceState;
  return lasting<Choices>(extension, log, "The choices", "-choices", {
    never: memory.get(FORMER.never, []),
    agents: { everything: memory.get(FORMER.everything, false) },
  });
}
