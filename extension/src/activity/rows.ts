// The calls of agents and others as rows: who asked, what they asked, and what they got or why they got nothing.
import type { ActivityEntry, AttachedSession } from "../protocol.gen";
import type { FolderNames } from "../folderNames";
import { fromSidecar, inRow, quoted } from "../shown";
import { countText, folderOfHit } from "../search/row";
import { ago } from "../time";

export interface Row {
  label: string;
  description: string;
  /** A codicon. */
  icon: string;
  /** A colour of the theme. */
  color?: string;
  /** For screen readers: everything, in words. */
  spoken: string;
  /** The lines of the tooltip: what a narrow view cuts off, and what the row leaves out. */
  tip?: readonly string[];
}

const STATES: Readonly<Record<ActivityEntry["state"], { icon: string; color?: string; said: string }>> = {
  running: { icon: "sync~spin", said: "running" },
  asking: { icon: "question", color: "charts.yellow", said: "waits for your answer" },
  done: { icon: "check", said: "done" },
  refused: { icon: "circle-slash", color: "charts.orange", said: "refused" },
  failed: { icon: "error", color: "charts.red", said: "failed" },
  cancelled: { icon: "close", said: "cancelled" },
};

const DOORS: Readonly<Record<AttachedSession["door"], string>> = {
  lsp: "editor",
  mcp: "agent",
  rest: "REST",
  shell: "shell",
};

/** `now` in milliseconds since the epoch. `folders`: more than one is open, so each row says about which it is. */
export function entryRow(entry: ActivityEntry, now: number, folders?: FolderNames): Row {
  const { icon, color, said } = STATES[entry.state];
  const subject = entry.asked === "" ? titleOf(entry.tool) : quoted(entry.asked);
  const deed = entry.asked === "" ? "" : titleOf(entry.tool);
  const when = ago(Date.parse(entry.started), now);
  const who = nameOf({ name: entry.agent, door: entry.door });
  const folder = inRow(folderOfHit(entry, folders) ?? "");
  // What comes last is what a narrow view cuts off.
  const parts = [folder, who, deed, outcomeOf(entry), when].filter((part) => part !== "");
  return {
    label: subject,
    description: parts.join("  ·  "),
    icon: entry.state === "done" ? toolIcon(entry.tool) : icon,
    ...(color === undefined ? {} : { color }),
    spoken: [subject, who, deed, folder, said, entry.state === "done" ? outcomeOf(entry) : "", when]
      .filter((part) => part !== "")
      .join(", "),
    tip: tipOf(entry, subject, who),
  };
}

function tipOf(entry: ActivityEntry, subject: string, who: string): string[] {
  const { tool, tookMs, workspace, started, message = "" } = entry;
  const took = tookMs === undefined ? "" : `${Math.round(tookMs)} ms`;
  const outcome = [tool, outcomeOf(entry), took].filter((part) => part !== "").join(", ");
  const where = workspace === "" ? "" : `in ${inRow(workspace)}`;
  const when = new Date(started).toLocaleString();
  return [subject, `by ${who}`, where, outcome, when, fromSidecar(message).text].filter((line) => line !== "");
}

function outcomeOf({ state, results }: ActivityEntry): string {
  if (state !== "done") return STATES[state].said;
  return results === undefined ? "" : countText(results);
}

/** `search_code` as `Search code`. */
export function titleOf(tool: string): string {
  const words = tool.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function toolIcon(tool: string): string {
  if (tool.includes("delete")) return "trash";
  if (tool.startsWith("memory")) return "archive";
  if (tool.includes("index")) return "database";
  return tool.startsWith("search") || tool.startsWith("find") ? "search" : "check";
}

export function sessionRow(session: AttachedSession, now: number): Row {
  const name = nameOf(session);
  const parts = [
    session.you ? "this editor" : DOORS[session.door],
    `${session.calls} ${session.calls === 1 ? "call" : "calls"}`,
    `since ${ago(Date.parse(session.since), now)}`,
  ];
  return {
    label: session.version === "" ? name : `${name} ${quoted(session.version)}`,
    description: parts.join("  ·  "),
    icon: session.door === "lsp" ? "window" : session.door === "mcp" ? "hubot" : "terminal",
    spoken: [name, ...parts].join(", "),
    tip: [name, parts.join(", "), ...session.workspaces.map((workspace) => `in ${inRow(workspace)}`)],
  };
}

/** A client's name for itself, or its door if it gives no name. */
export function nameOf({ name, door }: Pick<AttachedSession, "name" | "door">): string {
  return name === "" ? DOORS[door] : quoted(name);
}

/** An editor's calls are those of the person in front of it; this view is for all others. */
export function isForeign({ door }: { door: AttachedSession["door"] }): boolean {
  return door !== "lsp";
}
