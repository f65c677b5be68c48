// What the status bar shows of an index: a short text and an icon; everything else is in the tooltip.
import { counted, grouped } from "../counts";
import type { FolderStatus, StatusOrigin, StatusUpgrade } from "../protocol.gen";
import { inMarkdown, visible } from "../shown";
import type { State } from "../sidecar";
import { ago, duration } from "../time";
import { agoText } from "./snapshotText";

/**
 * What a person sees of an index; `stale` and `partial` are distinguished from `ready`. `unfinished`: its first building
 * has ended before it was complete. What was complete once completes itself.
 */
export type Condition =
  | "off"
  | "starting"
  | "broken"
  | "missing"
  | "gone"
  | "indexing"
  | "partial"
  | "unfinished"
  | "stale"
  | "failed"
  | "wordsOnly"
  | "upgrading"
  | "ready";

export interface Shown {
  condition: Condition;
  /** With a codicon. */
  text: string;
  /** The same without icons, for screen readers. */
  spoken: string;
  severity: "none" | "warning" | "error";
  /** What it means and what helps, as text. */
  says: string;
  /** Markdown. */
  tooltip: string;
}

type Facts = Partial<FolderStatus>;

export function conditionOf(state: State, status: Facts | undefined): Condition {
  if (state !== "running") return { failed: "broken", stopped: "off", starting: "starting" }[state] as Condition;
  return status === undefined ? "starting" : conditionOfIndex(status);
}

function conditionOfIndex(facts: Facts): Condition {
  const { status, coverage = 1 } = facts;
  if (facts.gone) return "gone";
  if (facts.wordsOnly) return "wordsOnly";
  if (facts.unfinished) return "unfinished";
  const plain = { not_found: "missing", indexing: "indexing", failed: "failed", incomplete: "partial" } as const;
  if (status !== undefined && status !== "ready") return plain[status];
  if (coverage < 1) return "partial";
  return conditionOfWhole(facts);
}

function conditionOfWhole(facts: Facts): Condition {
  if (isBehind(facts)) return "stale";
  return facts.modelUpgrade === undefined ? "ready" : "upgrading";
}

function isBehind({ pendingFiles = 0, behind = false }: Facts): boolean {
  return behind || pendingFiles > 0;
}

interface Look {
  icon: string;
  text: (facts: Facts) => string;
  severity: Shown["severity"];
  /** What it means and what helps. */
  says: string;
  /** Nothing that the sidecar says of the index adds to that. */
  alone?: true;
}

const LOOKS: Readonly<Record<Condition, Look>> = {
  off: { icon: "circle-slash", text: () => "Sidecar", severity: "none", says: "Not running." },
  starting: { icon: "sync~spin", text: () => "Sidecar", severity: "none", says: "Starting." },
  broken: { icon: "error", text: () => "Sidecar", severity: "error", says: "Sidecar could not be started." },
  missing: {
    icon: "database",
    text: () => "Not indexed",
    severity: "none",
    says: "This folder has no index yet. Making one takes seconds to minutes, on this machine.",
  },
  gone: {
    icon: "warning",
    text: () => "Folder not found",
    severity: "warning",
    says: "The folder is not there now, and is searched again when it is back.",
    alone: true,
  },
  indexing: { icon: "sync~spin", text: indexingText, severity: "none", says: "Searches already find what is indexed." },
  partial: {
    icon: "circle-large-outline",
    text: (facts) => `Partial ${percentHeld(facts)} %`,
    severity: "warning",
    says: "The index does not hold everything yet: searches may miss something.",
  },
  unfinished: {
    icon: "circle-large-outline",
    text: (facts) => `Partial ${percentHeld(facts)} %`,
    severity: "warning",
    says: "The index does not hold everything yet: searches may miss something. Continue Indexing completes it.",
  },
  stale: {
    icon: "history",
    text: ({ pendingFiles = 0 }) => (pendingFiles > 0 ? `${grouped(pendingFiles)} changed` : "Checking"),
    severity: "none",
    says: "Files have changed since they were indexed, or may have. They are indexed before the next search.",
  },
  failed: {
    icon: "error",
    text: () => "Index failed",
    severity: "error",
    says: "The index has failed. Reindexing the project rebuilds it.",
  },
  wordsOnly: {
    icon: "warning",
    text: () => "Words only",
    severity: "warning",
    says: "Searches find words only, not meaning.",
  },
  upgrading: {
    icon: "check",
    text: ({ modelUpgrade }) => `Model upgrade ${modelUpgrade?.percent ?? 0} %`,
    severity: "none",
    says: "The index is up to date. A better model takes over in the background.",
  },
  ready: { icon: "check", text: () => "Sidecar", severity: "none", says: "The index is up to date." },
};

/**
 * `problem`: why the sidecar is not running, or what else is to be said of the index. `now` in milliseconds since the epoch.
 * `folder`: its name, where more than one is open.
 */
export function shown(
  state: State,
  status: Facts | undefined,
  problem: string | undefined,
  now: number,
  folder?: string,
): Shown {
  const condition = conditionOf(state, status);
  const look = LOOKS[condition];
  const facts = status ?? {};
  const text = look.text(facts);
  const more = look.alone ? [] : [problem, facts.notice, facts.warning];
  const says = [look.says, ...more].flatMap((part = "") => (part === "" ? [] : [visible(part)]));
  return {
    condition,
    text: `$(${look.icon}) ${text}`,
    spoken: `Sidecar${folder === undefined ? "" : `, ${visible(folder)}`}: ${text === "Sidecar" ? look.says : `${text}. ${look.says}`}`,
    severity: look.severity,
    says: says.join(" "),
    tooltip: tooltip(says.map(inMarkdown).join("  \n"), facts, now, folder),
  };
}

export function percentWithVectors({ coverage = 0 }: Facts): number {
  return Math.floor(coverage * 100);
}

/** The share of what belongs in the index: unread files and chunks without a vector both count as missing. */
export function percentHeld({ coverage = 0, totalFiles = 0, workspaceFiles = totalFiles }: Facts): number {
  const read = workspaceFiles === 0 ? 1 : totalFiles / workspaceFiles;
  return Math.floor(coverage * read * 100);
}

function indexingText({ progress }: Facts): string {
  if (progress === undefined || progress.total === 0) return "Indexing";
  const left = progress.secondsLeft === undefined ? "" : `, ${duration(progress.secondsLeft)} left`;
  return `Indexing ${progress.percent} %${left}`;
}

function tooltip(says: string, facts: Facts, now: number, folder: string | undefined): string {
  const rows = rowsOf(facts, now).map(([name, value]) => `| ${name} | ${inMarkdown(value)} |`);
  const table = rows.length === 0 ? "" : `\n\n|  |  |\n|:--|:--|\n${rows.join("\n")}`;
  const of = folder === undefined ? "" : `: ${inMarkdown(folder)}`;
  return `**Sidecar**${of}\n\n${says}${table}`;
}

function rowsOf(facts: Facts, now: number): [string, string][] {
  const { totalFiles, codeFiles = 0, docsFiles = 0, totalChunks = 0 } = facts;
  if (totalFiles === undefined) return [];
  return [
    ["Files", `${grouped(totalFiles)} (${grouped(codeFiles)} code, ${grouped(docsFiles)} documentation)`],
    ["Chunks", grouped(totalChunks)],
    ...optional("Model", facts.model, modelName),
    ...optional("Next model", facts.modelUpgrade, upgradeText),
    ...optional("Device", facts.device, deviceText),
    ...optional("Size", facts.storageSize, sizeText),
    ...optional("Started from", facts.origin, (origin) => originText(origin, now)),
    ...optional("Updated", facts.lastUpdated, (time) => ago(Date.parse(time), now)),
  ];
}

function optional<T>(name: string, value: T | undefined, text: (value: T) => string): [string, string][] {
  return value === undefined ? [] : [[name, text(value)]];
}

/** `minilm-code-int8: 43 % of 10 252 chunks, 2 min left` */
export function upgradeText({ model, percent, total, secondsLeft, note }: StatusUpgrade): string {
  const left = secondsLeft === undefined ? "" : `, ${duration(secondsLeft)} left`;
  const why = note === undefined ? "" : ` (${note})`;
  return `${modelName(model)}: ${percent} % of ${counted(total, "chunk")}${left}${why}`;
}

/** `snapshot of commit 0123456789, made 2 h ago at https://ci.example.org: 980 of 982 files` */
export function originText({ commit, made, source, files, taken }: StatusOrigin, now: number): string {
  return `snapshot of commit ${commit.slice(0, 10)}, made${agoText(made, now)} at ${source}: ${grouped(taken)} of ${counted(files, "file")}`;
}

/** The model's id without the digest that distinguishes its versions. */
export function modelName(model: string): string {
  return model.replace(/@[0-9a-f]{8,}$/, "");
}

export function deviceText(device: string): string {
  return { auto: "chosen when needed", cpu: "processor", cuda: "graphics card" }[device] ?? device;
}

export function sizeText(size: string): string {
  return size.replace(/(\d)([A-Z])/, "$1 $2");
}
