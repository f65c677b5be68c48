// The rows of the palette: hits, earlier searches, and what to do where there are none.
import { counted } from "../counts";
import * as vscode from "vscode";
import type { PlacedHit } from "../sidecar";
import type { Past } from "../results/shelf";
import type { Advice } from "./advice";
import { type Asked, type Found, type Subject, manner } from "./find";
import { iconOf } from "./kinds";
import { several, uriOf } from "./place";
import { countText, isFile, rowOf } from "./row";
import { inRow, quoted } from "../shown";

export interface Item extends vscode.QuickPickItem {
  hit?: PlacedHit;
  command?: string;
  past?: Asked;
}

export const TO_THE_SIDE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("split-horizontal"),
  tooltip: "Open to the Side (Ctrl+Enter)",
};
export const KEEP: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("pin"),
  tooltip: "Keep These Results in View (Alt+K)",
};

const MOST_RECENT = 8;

/** `narrowed`: what is typed narrows these rows down in the editor, so none is always shown. */
export function hitItems({ hits, available, notice, tookMs }: Found, subject: Subject, narrowed: boolean): Item[] {
  const rows = hits.map((hit): Item => hitItem(hit, subject, narrowed));
  const count = available === undefined ? countText(hits.length) : `${hits.length} of ${counted(available, "result")}`;
  const took = tookMs === undefined ? "" : ` in ${Math.max(1, Math.round(tookMs))} ms`;
  const summary = `${count}${took}`;
  return [separator(notice === undefined ? summary : `${summary}  ·  ${inRow(notice)}`), ...rows];
}

function hitItem(hit: PlacedHit, subject: Subject, narrowed: boolean): Item {
  const { label, description, detail } = rowOf(hit, several());
  const item = { description, alwaysShow: !narrowed, buttons: [TO_THE_SIDE, KEEP], hit };
  if (!isFile(hit)) return { label, detail, ...item };
  // `resourceUri` is newer than the oldest editor that is served; where it is known, the row has the file's own icon.
  const icon = { iconPath: vscode.ThemeIcon.File, resourceUri: uriOf(hit) };
  return { ...item, ...icon, label: subject === "path" ? inRow(hit.names[0] ?? hit.path) : label };
}

export function adviceItems({ icon, title: plain, detail: told, command }: Advice): Item[] {
  const [title, detail] = [inRow(plain), inRow(told)];
  return [
    {
      label: `$(${icon}) ${title}`,
      detail: command === undefined ? detail : `Press Enter: ${command.title}. ${detail}`,
      alwaysShow: true,
      ...(command === undefined ? {} : { command: command.id }),
    },
  ];
}

export function pastItems(past: readonly Past[], subject: Subject): Item[] {
  const recent = past.filter(({ asked }) => asked.subject === subject).slice(0, MOST_RECENT);
  if (recent.length === 0) return [];
  const rows = recent.map(({ asked, results }): Item => ({
    label: `$(history) ${quoted(asked.query)}`,
    description: [manner(asked), countText(results)].filter((part) => part !== "").join("  ·  "),
    alwaysShow: true,
    past: asked,
  }));
  return [separator("recent searches"), ...rows];
}

export function iconForKind(kind: string): vscode.ThemeIcon {
  return new vscode.ThemeIcon(iconOf(kind));
}

function separator(label: string): Item {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}
