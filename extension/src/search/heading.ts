// What surrounds the rows of the palette: title with the count, notice, buttons. None of it covers a row.
import * as vscode from "vscode";
import { fromSidecar } from "../shown";
import type { Found, Subject } from "./find";
import { AS_EDITOR, SAVE, SAVED } from "./items";
import { MODES, type Mode } from "./modes";
import { summaryOf } from "./row";

/** Newer than the oldest supported editor, which ignores it. */
export interface ToggleButton extends vscode.QuickInputButton {
  mode: Mode;
  toggle: { checked: boolean };
}

interface Heading {
  title: string;
  subject: Subject;
  mode: Mode;
  /** Whether the question is among the saved ones. */
  saved: boolean;
  /** The answer whose rows are shown, if any. */
  found: Found | undefined;
}

/** A list whose rows keep the order of the answer: the editor would put those first whose label contains the input. */
export function orderedList<T extends vscode.QuickPickItem>(): vscode.QuickPick<T> {
  const list = vscode.window.createQuickPick<T>();
  // If a single word is typed, the editor itself marks it in the match.
  list.matchOnDetail = true;
  return Object.assign(list, { sortByLabel: false });
}

export function dress(list: vscode.QuickPick<vscode.QuickPickItem>, heading: Heading): void {
  const { title, subject, mode, found } = heading;
  const notice = found?.notice === undefined ? undefined : fromSidecar(found.notice).text;
  const isCode = subject === "code";
  const parts = [isCode ? `${title}: ${mode.title}` : title, found === undefined ? undefined : summaryOf(found)];
  // A line below the input, newer than the oldest supported editor. Without it, the notice follows the count.
  if ("prompt" in list) Object.assign(list, { prompt: notice });
  else parts.push(notice);
  list.title = parts.filter((part) => part !== undefined).join("  ·  ");
  const modes = isCode ? MODES.map((one) => modeButton(one, mode)) : [];
  list.buttons = [...modes, ...buttonsOf(heading)];
}

function buttonsOf({ found, subject, saved }: Heading): vscode.QuickInputButton[] {
  const asEditor = found === undefined ? [] : [AS_EDITOR];
  return subject === "similar" ? asEditor : [...asEditor, saveButton(saved)];
}

function saveButton(saved: boolean): vscode.QuickInputButton {
  return saved ? SAVED : SAVE;
}

function modeButton(mode: Mode, current: Mode): ToggleButton {
  const checked = mode.id === current.id;
  return { mode, iconPath: new vscode.ThemeIcon(mode.icon), tooltip: mode.tooltip, toggle: { checked } };
}
