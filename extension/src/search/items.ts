// The rows of the palette: hits, earlier searches, and advice if there are none.
import * as vscode from "vscode";
import type { PlacedHit } from "../sidecar";
import type { Past } from "../results/shelf";
import type { Advice } from "./advice";
import type { Completion } from "./completions";
import { type Asked, type Found, type Subject, manner, sameAsked } from "./find";
import { keyName } from "../keys";
import { iconOf } from "./kinds";
import { several, uriOf } from "./place";
import { countText, isFile, rowOf } from "./row";
import { asTyped, inRow } from "../shown";

export interface Item extends vscode.QuickPickItem {
  hit?: PlacedHit;
  command?: string;
  past?: Asked;
  /** The text that accepting the row puts into the input. */
  typed?: string;
}

export const TO_THE_SIDE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("split-horizontal"),
  tooltip: `Open to the Side (${keyName("Ctrl+Enter")})`,
};
export const KEEP: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("pin"),
  tooltip: `Keep These Results in View (${keyName("Alt+K")})`,
};
export const PEEK: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("inspect"),
  tooltip: `Peek (${keyName("Alt+P")})`,
};
export const AS_EDITOR: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("go-to-file"),
  tooltip: `Open These Results in an Editor (${keyName("Alt+E")})`,
};

export const SAVE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("bookmark"),
  tooltip: `Save This Search (${keyName("Alt+S")})`,
};
export const SAVED: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("star-full"),
  tooltip: `Saved. Forget This Search (${keyName("Alt+S")})`,
};
export const FORGET: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("close"),
  tooltip: "Forget This Saved Search",
};

const MOST_RECENT = 8;

/** `narrowed`: what is typed narrows these rows down in the editor, so none is always shown. */
export function hitItems({ hits }: Found, subject: Subject, narrowed: boolean): Item[] {
  return hits.map((hit) => hitItem(hit, subject, narrowed));
}

function hitItem(hit: PlacedHit, subject: Subject, narrowed: boolean): Item {
  const { label, description, detail } = rowOf(hit, several());
  const item = {
    description,
    alwaysShow: !narrowed,
    buttons: isFile(hit) ? [TO_THE_SIDE, KEEP] : [PEEK, TO_THE_SIDE, KEEP],
    hit,
  };
  if (!isFile(hit)) return { label, detail, ...item };
  // `resourceUri` is newer than the oldest supported editor. Where it is known, the row has the file's own icon.
  const icon = { iconPath: vscode.ThemeIcon.File, resourceUri: uriOf(hit) };
  return { ...item, ...icon, label: subject === "path" ? inRow(hit.names[0] ?? hit.path) : label };
}

export function adviceItems({ icon, title: plainTitle, detail: plainDetail, instead, command }: Advice): Item[] {
  const [title, detail] = [inRow(plainTitle), inRow(instead ?? plainDetail)];
  return [
    {
      label: `$(${icon}) ${title}`,
      detail: command === undefined ? detail : `Press Enter: ${command.title}. ${detail}`,
      alwaysShow: true,
      ...(command === undefined ? {} : { command: command.id }),
    },
  ];
}

/** The searches that somebody saved, then the recent ones that are not among them. */
export function pastItems(past: readonly Past[], saved: readonly Asked[], subject: Subject): Item[] {
  const own = saved.filter((asked) => asked.subject === subject);
  const recent = past
    .filter(({ asked }) => asked.subject === subject && !own.some((one) => sameAsked(one, asked)))
    .slice(0, MOST_RECENT);
  const savedRows = own.map((asked): Item => ({ ...pastItem("bookmark", asked, []), buttons: [FORGET] }));
  const recentRows = recent.map(({ asked, results }) => pastItem("history", asked, [countText(results)]));
  return [...under("saved searches", savedRows), ...under("recent searches", recentRows)];
}

function pastItem(icon: string, asked: Asked, facts: readonly string[]): Item {
  return {
    label: `$(${icon}) ${asTyped(asked.query)}`,
    description: [manner(asked), ...facts].filter((part) => part !== "").join("  ·  "),
    alwaysShow: true,
    past: asked,
  };
}

function under(title: string, rows: readonly Item[]): Item[] {
  return rows.length === 0 ? [] : [separator(title), ...rows];
}

export function completionItems(completions: readonly Completion[]): Item[] {
  return completions.map(({ title, detail, typed }) => ({
    label: `$(filter) ${inRow(title)}`,
    description: detail,
    alwaysShow: true,
    typed,
  }));
}

export function iconForKind(kind: string): vscode.ThemeIcon {
  return new vscode.ThemeIcon(iconOf(kind));
}

function separator(label: string): Item {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}
