// The search palette: a list that answers while somebody types, and previews the active row in the editor.
import * as vscode from "vscode";
import type { PlacedHit } from "../sidecar";
import { adviceForError, adviceForNothing } from "./advice";
import { Asking, type Outcome } from "./asking";
import { completionsOf } from "./completions";
import { type ToggleButton, dress, orderedList } from "./heading";
import { type Unfinished, understood, unfinished } from "./filters";
import { takesFilters, type Asked, type Found } from "./find";
import {
  type Item,
  AS_EDITOR,
  FORGET,
  KEEP,
  PEEK,
  SAVE,
  SAVED,
  TO_THE_SIDE,
  adviceItems,
  completionItems,
  hitItems,
  pastItems,
} from "./items";
import { Lines } from "./lines";
import { type Mode, modeAfter, modeOf } from "./modes";
import type { Opening, Surroundings } from "./opening";
import { peekAt } from "../results/peek";
import { openHit } from "./place";
import { Preview } from "./preview";
import { findOrTell } from "./waiting";
import { openOrTell } from "./unopened";
import { failed, tell } from "../tell";

const PAUSE_MS = 150;

export class Palette implements vscode.Disposable {
  private readonly list = orderedList<Item>();
  private readonly preview = new Preview();
  private readonly asking: Asking<Asked, Found>;
  private mode: Mode;
  private lines: Lines;
  private answered: { asked: Asked; found: Found } | undefined;
  /** The row that is active although nobody has moved to it. */
  private resting: Item | undefined;
  /** How often the input has changed. */
  private typings = 0;
  /** `typings` when somebody last moved to a row. Who has typed on since means no row of the answer before. */
  private movedAt = -1;
  private leaving = false;
  private closed = false;

  constructor(
    private readonly opening: Opening,
    private readonly around: Surroundings,
  ) {
    this.mode = modeOf(opening.mode);
    this.lines = new Lines(opening.query);
    this.asking = new Asking(
      (asked, signal) => findOrTell(around.sidecar, asked, signal, (advice) => this.putAside(adviceItems(advice))),
      (outcome) => this.show(outcome),
      PAUSE_MS,
    );
    this.list.placeholder = opening.placeholder;
    this.list.value = this.isNarrowing || opening.begun === true ? "" : this.lines.shown;
    this.list.matchOnDescription = this.isNarrowing;
    this.list.onDidChangeValue(() => this.typed());
    this.list.onDidChangeActive(([item]) => void this.movedTo(item));
    this.list.onDidAccept(() => void this.accept());
    this.list.onDidTriggerButton((button) => this.pressed(button));
    this.list.onDidTriggerItemButton(({ button, item }) => this.pressed(button, item));
    this.list.onDidHide(() => void this.hidden());
  }

  open(): void {
    this.dress();
    this.list.show();
    // The text in the input when the list is shown is selected, and the next key replaces it.
    if (this.opening.begun === true) this.list.value = this.opening.query;
    this.askNow();
  }

  /** Saves the list's question, or forgets it. */
  save(): void {
    if (this.asked.query === "" || this.isNarrowing) return;
    this.around.shelf.toggleSaved(this.asked);
    this.dress();
  }

  nextMode(): void {
    if (this.opening.subject === "code") this.switchTo(modeAfter(this.mode.id));
  }

  openToSide(item = this.list.activeItems[0]): void {
    if (item?.hit !== undefined) void this.leaveFor(item.hit, vscode.ViewColumn.Beside);
  }

  keep(): void {
    this.leaveWith(this.around.keep);
  }

  showAsEditor(): void {
    this.leaveWith(this.around.showAsEditor);
  }

  /** Opens it in the file that was there before, at its cursor. */
  peek(item = this.list.activeItems[0]): void {
    const hit = item?.hit;
    if (hit !== undefined) void this.leave(true, () => openOrTell(hit, () => peekAt(hit)));
  }

  dispose(): void {
    this.asking.stop();
    this.preview.dispose();
    this.list.dispose();
  }

  /** The input filters one answer, and sends no request. */
  private get isNarrowing(): boolean {
    return this.opening.subject === "similar";
  }

  private get asked(): Asked {
    const { subject, spot, query } = this.opening;
    const typed = this.isNarrowing ? query : this.lines.asked(this.list.value.trim());
    return { subject, query: typed, mode: this.mode.id, ...(spot === undefined ? {} : { spot }) };
  }

  private dress(): void {
    const { title, subject } = this.opening;
    const saved = this.around.shelf.isSaved(this.asked);
    dress(this.list, { title, subject, mode: this.mode, found: this.answered?.found, saved });
  }

  private switchTo(mode: Mode): void {
    this.mode = mode;
    this.around.remember(mode.id);
    this.dress();
    this.askNow();
  }

  private askNow(): void {
    if (!this.isNarrowing) this.around.typed(this.lines.asked(this.list.value));
    if (!this.isQuestion) this.showPast();
    else this.asking.now(this.asked);
  }

  private typed(): void {
    this.typings++;
    if (this.isNarrowing) return;
    this.around.typed(this.lines.asked(this.list.value));
    const part = takesFilters(this.opening.subject) ? unfinished(this.list.value) : undefined;
    if (part !== undefined) void this.complete(part);
    else if (!this.isQuestion) this.showPast();
    else this.asking.soon(this.asked);
  }

  /** Filters alone send no request. */
  private get isQuestion(): boolean {
    const { query } = this.asked;
    return (takesFilters(this.opening.subject) ? understood(query).text : query) !== "";
  }

  private async complete(part: Unfinished): Promise<void> {
    this.asking.stop();
    const typings = this.typings;
    const completions = await completionsOf(this.around.sidecar, part);
    if (typings !== this.typings || this.closed) return;
    if (completions.length > 0) this.putAside(completionItems(completions));
    else if (this.isQuestion) this.asking.soon(this.asked);
    else this.showPast();
  }

  private showPast(): void {
    this.asking.stop();
    this.putAside(pastItems(this.around.shelf.history, this.around.shelf.saved, this.opening.subject));
  }

  /** Shows rows that are no answer. */
  private putAside(items: readonly Item[]): void {
    this.answered = undefined;
    this.dress();
    this.put(items);
    this.list.busy = false;
  }

  private show(outcome: Outcome<Asked, Found>): void {
    this.list.busy = outcome.state === "asking";
    if (outcome.state === "asking") return;
    const { question } = outcome;
    if (outcome.state === "failed") this.putAside(adviceItems(adviceForError(outcome.error)));
    else if (outcome.answer.hits.length === 0)
      this.putAside(adviceItems(adviceForNothing(question, outcome.answer.reason)));
    else {
      this.answered = { asked: question, found: outcome.answer };
      this.dress();
      this.put(hitItems(outcome.answer, this.opening.subject, this.isNarrowing));
    }
  }

  private put(items: readonly Item[]): void {
    this.resting = items[0];
    this.list.items = items;
  }

  /**
   * A row becomes active by itself too: the first one, when rows are put there and with every key that is typed. The
   * editor tells of that before it tells what was typed; so whether somebody moved is known once it has answered.
   */
  private async movedTo(item: Item | undefined): Promise<void> {
    if (item === this.resting) return;
    this.resting = item;
    const typings = this.typings;
    await this.around.heard();
    if (typings !== this.typings || item !== this.resting || this.closed) return;
    this.movedAt = typings;
    if (item?.hit !== undefined) this.preview.show(item.hit);
  }

  private async accept(): Promise<void> {
    const passed = this.list.busy && this.movedAt !== this.typings;
    const { hit, past, typed, command } = this.list.activeItems[0] ?? ({} as Partial<Item>);
    if (passed) this.asking.hurry();
    else if (hit !== undefined) await this.leaveFor(hit);
    else if (past !== undefined) this.askAgain(past);
    else if (typed !== undefined) this.list.value = typed;
    else if (command !== undefined) {
      this.list.hide();
      await vscode.commands.executeCommand(command);
    }
  }

  private askAgain(past: Asked): void {
    this.mode = modeOf(past.mode);
    this.lines = new Lines(past.query);
    this.list.value = this.lines.shown;
    this.dress();
    this.askNow();
  }

  private pressed(button: vscode.QuickInputButton, item?: Item): void {
    const does = new Map<vscode.QuickInputButton, () => void>([
      [TO_THE_SIDE, () => this.openToSide(item)],
      [PEEK, () => this.peek(item)],
      [KEEP, () => this.keep()],
      [AS_EDITOR, () => this.showAsEditor()],
      [SAVE, () => this.save()],
      [SAVED, () => this.save()],
      [FORGET, () => this.forget(item)],
    ]).get(button);
    if (does !== undefined) does();
    else if ("mode" in button) this.switchTo((button as ToggleButton).mode);
  }

  private forget(item?: Item): void {
    if (item?.past === undefined) return;
    this.around.shelf.toggleSaved(item.past);
    this.showPast();
  }

  private leaveFor(hit: PlacedHit, column?: vscode.ViewColumn): Promise<void> {
    const options = { preview: false, ...(column === undefined ? {} : { viewColumn: column }) };
    // Beside the editor that was there before, not beside its preview.
    return this.leave(column !== undefined, () => openOrTell(hit, () => openHit(hit, options)));
  }

  /** With the answer, back to what was there before. Who has typed on means the answer to that. */
  private leaveWith(goOn: (asked: Asked, found: Found) => unknown): void {
    if (this.asking.afterAnswer(() => this.leaveWith(goOn)) || this.answered === undefined) return;
    const { asked, found } = this.answered;
    void this.leave(true, () => goOn(asked, found));
  }

  private async leave(back: boolean, goOn: () => unknown): Promise<void> {
    this.leaving = true;
    this.note();
    this.list.hide();
    await (back ? this.preview.restore() : this.preview.settled());
    try {
      await goOn();
    } catch (error) {
      void tell.error(failed(error));
    } finally {
      this.dispose();
    }
  }

  private note(): void {
    if (this.answered !== undefined) this.around.shelf.note(this.answered.asked, this.answered.found.hits.length);
  }

  private async hidden(): Promise<void> {
    this.closed = true;
    this.asking.stop();
    this.around.closed();
    if (this.leaving) return;
    this.note();
    await this.preview.restore();
    this.dispose();
  }
}
