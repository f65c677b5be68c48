// What to say and to offer when there is nothing to show.
import { asFailure } from "../failure";
import { isFiltered, understood } from "./filters";
import { type Asked, takesFilters } from "./find";
import { modeOf } from "./modes";
import { oneLine, quoted } from "../shown";

export interface Advice {
  /** A codicon. */
  icon: string;
  title: string;
  detail: string;
  /** What a row says in place of the detail, where title and command say the same as that. */
  instead?: string;
  /** A command that helps, and what it is called. */
  command?: { id: string; title: string };
}

const CREATE = { id: "sidecar.createIndex", title: "Create Index" };
const STATUS = { id: "sidecar.showIndexStatus", title: "Show Index Status" };
const REINDEX = { id: "sidecar.reindexProject", title: "Reindex Project" };
const LOG = { id: "sidecar.showLog", title: "Show Log" };
const RESTART = { id: "sidecar.restart", title: "Restart" };
const CONFIG = { id: "sidecar.openConfig", title: "Open Config" };
const DOCTOR = { id: "sidecar.doctor", title: "Doctor" };
const EXPLAIN = { id: "sidecar.explainPath", title: "Why Is This File (Not) Indexed?" };
const TRUST = { id: "workbench.trust.manage", title: "Manage Workspace Trust" };
const OPEN = { id: "vscode.openFolder", title: "Open Folder" };
const NO_FOLDER = { icon: "folder", title: "There is no folder to search", command: OPEN };

const BY_CODE: Readonly<Record<string, Omit<Advice, "detail">>> = {
  INDEX_NOT_FOUND: {
    icon: "database",
    title: "This folder is not indexed yet",
    instead: "It takes seconds to minutes, on this machine.",
    command: CREATE,
  },
  DOCS_INDEX_NOT_FOUND: { icon: "book", title: "No documentation is indexed", command: STATUS },
  INDEX_CORRUPT: { icon: "error", title: "The index is damaged", command: REINDEX },
  INDEX_EXISTS: { icon: "database", title: "This folder is indexed already", command: REINDEX },
  INDEXING_IN_PROGRESS: { icon: "sync", title: "The folder is being indexed", command: STATUS },
  INDEX_LOCKED: { icon: "lock", title: "Another process holds the index", command: LOG },
  MODEL_LOAD_FAILED: { icon: "error", title: "Search by meaning is not available", command: DOCTOR },
  CONFIG_INVALID: { icon: "gear", title: "A setting cannot be used", command: CONFIG },
  FILE_EXCLUDED: { icon: "file", title: "This file is left out", command: EXPLAIN },
  DAEMON_ENDED: { icon: "debug-disconnect", title: "Sidecar has ended", command: RESTART },
  DAEMON_UNAVAILABLE: { icon: "debug-disconnect", title: "Sidecar is not running", command: RESTART },
  NOT_RUNNING: { icon: "debug-disconnect", title: "Sidecar is not running", command: RESTART },
  NOT_SET_UP: { icon: "cloud-download", title: "Sidecar is not set up yet", command: RESTART },
  NOT_TRUSTED: { icon: "shield", title: "Search is off in a folder that is not trusted", command: TRUST },
  NO_FOLDER,
  WORKSPACE_NOT_FOUND: NO_FOLDER,
  FILE_NOT_FOUND: { icon: "file", title: "This file is not in the index", command: STATUS },
  INVALID_PATTERN: { icon: "info", title: "This is not a pattern of paths" },
  INVALID_PARAMS: { icon: "info", title: "This cannot be searched for" },
  INVALID_QUERY: { icon: "info", title: "This cannot be searched for" },
};

export function adviceForError(error: unknown): Advice {
  const failure = asFailure(error);
  const known = BY_CODE[failure.code] ?? { icon: "error", title: "The search failed", command: LOG };
  return { ...known, detail: failure.message };
}

/** The helping command's name in the command palette; empty if there is none. */
export function whatHelps({ command }: Advice): string {
  if (command === undefined) return "";
  return command.id.startsWith("sidecar.") ? `Sidecar: ${command.title}` : command.title;
}

/** `step`: what the set-up is doing; undefined if nothing is being set up. */
export function adviceWhileStarting(step: string | undefined): Advice {
  const title = step === undefined ? "Sidecar is starting" : "Sidecar is being set up";
  const detail = "Your question is answered as soon as it runs.";
  return { icon: "sync~spin", title, detail: step === undefined ? detail : `${step} ${detail}` };
}

const HINTS: Readonly<Record<Asked["subject"], string>> = {
  code: "Try other words, or another way of searching: the buttons above switch it.",
  docs: "Only documents that are in the index are searched; the index status shows how many there are.",
  symbol: "Try other words for what it does.",
  similar: "Nothing in the index is like this code.",
  path: "Letters of a path are enough, in their order; a pattern such as src/**/*.py names many.",
};

const FEWER = "Leave out lang:, path:, kind: or the quotation marks to search everywhere.";

/** `reason`: why there is nothing, as the sidecar says it. */
export function adviceForNothing(asked: Asked, reason?: string): Advice {
  const how = asked.subject === "code" ? ` by ${modeOf(asked.mode).title}` : "";
  const what =
    asked.subject === "similar"
      ? "Nothing like it was found"
      : `Nothing found for ${quoted(oneLine(asked.query))}${how}`;
  const narrowed = takesFilters(asked.subject) && isFiltered(understood(asked.query));
  return { icon: "circle-slash", title: what, detail: reason ?? (narrowed ? FEWER : HINTS[asked.subject]) };
}
