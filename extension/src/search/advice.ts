// What to say, and what to offer, where there is nothing to show.
import { asFailure } from "../failure";
import type { Asked } from "./find";
import { modeOf } from "./modes";

export interface Advice {
  /** A codicon. */
  icon: string;
  title: string;
  detail: string;
  /** A command that helps, and what it is called. */
  command?: { id: string; title: string };
}

const CREATE = { id: "sidecar.createIndex", title: "Create Index" };
const STATUS = { id: "sidecar.showIndexStatus", title: "Show Index Status" };
const REINDEX = { id: "sidecar.reindexProject", title: "Reindex Project" };
const LOG = { id: "sidecar.showLog", title: "Show Log" };
const RESTART = { id: "sidecar.restart", title: "Restart" };

const BY_CODE: Readonly<Record<string, Omit<Advice, "detail">>> = {
  INDEX_NOT_FOUND: { icon: "database", title: "This folder is not indexed yet", command: CREATE },
  DOCS_INDEX_NOT_FOUND: { icon: "book", title: "No documentation is indexed", command: STATUS },
  INDEX_CORRUPT: { icon: "error", title: "The index is damaged", command: REINDEX },
  INDEX_LOCKED: { icon: "lock", title: "Another process holds the index", command: LOG },
  MODEL_LOAD_FAILED: { icon: "error", title: "Search by meaning is not available", command: LOG },
  NOT_RUNNING: { icon: "debug-disconnect", title: "Sidecar is not running", command: RESTART },
  FILE_NOT_FOUND: { icon: "file", title: "This file is not in the index", command: STATUS },
  INVALID_PATTERN: { icon: "info", title: "This is not a pattern of paths" },
  INVALID_PARAMS: { icon: "info", title: "This cannot be searched for" },
  INVALID_QUERY: { icon: "info", title: "This cannot be searched for" },
};

export function adviceForError(error: unknown): Advice {
  const failure = asFailure(error);
  const known = BY_CODE[failure.code] ?? { icon: "error", title: "The search failed", command: LOG };
  return { ...known, detail: sentence(failure.message, failure.detail, known.command?.title) };
}

const HINTS: Readonly<Record<Asked["subject"], string>> = {
  code: "Try other words, or another way of searching: the buttons above switch it.",
  docs: "Only documents that are in the index are searched; the index status tells how many there are.",
  symbol: "Try other words for what it does.",
  similar: "Nothing in the index is like this code.",
  path: "A pattern such as src/**/*.py finds more; upper and lower case differ.",
};

export function adviceForNothing(asked: Asked): Advice {
  const how = asked.subject === "code" ? ` by ${modeOf(asked.mode).title}` : "";
  const what = asked.subject === "similar" ? "Nothing like it was found" : `Nothing found for “${asked.query}”${how}`;
  return { icon: "circle-slash", title: what, detail: HINTS[asked.subject] };
}

function sentence(message: string, detail: string | undefined, action: string | undefined): string {
  const more = detail !== undefined && detail !== "" && !message.includes(detail) ? ` ${detail}` : "";
  return `${message}${more}${action === undefined ? "" : ` Press Enter: ${action}.`}`;
}
