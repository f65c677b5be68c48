// What a person has chosen for a folder besides its settings. The same in every window on it.
import type * as vscode from "vscode";
import { moveOnce } from "./former";
import { type Lasting, lasting } from "./lasting";
import type { Log } from "./log";
import type { Shared } from "./sharedFile";

export interface Choices {
  /** The folders, by URI as text, for which no index is offered any more. */
  never: readonly string[];
  /** `everything`: the Agents view shows the calls of editors too. */
  agents: { everything?: boolean };
}

const NOTHING: Choices = { never: [], agents: {} };

/** Where earlier versions kept them, in the editor's own storage. */
const FORMER = { never: "sidecar.offeredIndex", everything: "sidecar.activityEverything" } as const;

export function lastingChoices(extension: vscode.ExtensionContext, log: Log): Lasting<Choices> {
  const choices = lasting(extension, log, "The choices", "-choices", NOTHING);
  takeOver(extension.workspaceState, choices.file);
  return choices;
}

function takeOver(memory: vscode.Memento, shared: Shared<Choices>): void {
  moveOnce(memory, Object.values(FORMER), () =>
    shared.change(({ never, agents }) => ({
      never: [...new Set([...never, ...memory.get<string[]>(FORMER.never, [])])],
      agents: { everything: memory.get(FORMER.everything, false), ...agents },
    })),
  );
}
