// The search palette: one list that answers while somebody types, and shows in the editor what is moved over.
import * as vscode from "vscode";
import type { Shelf } from "../results/shelf";
import type { PlacedHit, Sidecar } from "../sidecar";
import { adviceForError, adviceForNothing } from "./advice";
import { Asking, type Outcome } from "./asking";
import { find, type Asked, type Found, type Spot, type Subject } from "./find";
import { type Item, KEEP, TO_THE_SIDE, adviceItems, hitItems, pastItems } from "./items";
import { MODES, type Mode, type ModeId, modeAfter, modeOf } from "./modes";
import { openHit } from "./place";
import { Preview } from "./preview";
import { said } from "../shown";
import { tell } from "../tell";

const PAUSE_MS = 150;

export interface Opening {
  subject: Subject;
  title: string;
  placeholder: string;
  query: string;
  spot?: Spot;
  mode: ModeId;
}

export interface Surroundings {
  sidecar: Sidecar;
  shelf: Shelf;
  remember: (mode: ModeId) => void;
  keep: (asked: Asked, found: Found) => void;
  closed: () => void;
}

/** Newer than the oldest editor that is served, which passes it over. */
interface ToggleButton extends vscode.QuickInputButton {
  mode: Mode;
  toggle: { checked: boolean };
}

export class Palette implements vscode.Disposable {
  private readonly list = vscode.window.createQuickPick<Item>();
  private readonly preview = new Preview();
  private readonly asking: Asking<Asked, Found>;
  private mode: Mode;
  private answered: { asked: Asked; found: Found } | undefined;
  /** Rows have just been put there: the first becomes active without anybody having moved. */
  private untouched = false;
  private leaving = false;

  constructor(
    private readonly opening: Opening,
    private readonly around: Surroundings,
  ) {
    this.mode = modeOf(opening.mode);
    this.asking = new Asking(
      (asked, signal) => this.ask(asked, signal),
      (outcome) => this.show(outcome),
      PAUSE_MS,
    );
    this.list.placeholder = opening.placeholder;
    this.list.value = this.isNarrowing ? "" : opening.query;
    this.list.matchOnDescription = this.list.matchOnDetail = this.isNarrowing;
    // Rows stay in the order of the answer; the editor would put those first whose label has what is typed.
    Object.assign(this.list, { sortByLabel: false });
    this.list.onDidChangeValue(() => this.typed());
    this.list.onDidChangeActive(([item]) => this.movedTo(item));
    this.list.onDidAccept(() => void this.accept());
    this.list.onDidTriggerButton((button) => this.pressed(button));
    this.list.onDidTriggerItemButton(({ button, item }) => this.pressed(button, item));
    this.list.onDidHide(() => void this.hidden());
  }

  open(): void {
    this.dress();
    this.list.show();
    this.askNow();
  }

  nextMode(): void {
    if (this.opening.subject === "code") this.switchTo(modeAfter(this.mode.id));
  }

  openToSide(item = this.list.activeItems[0]): void {
    if (item?.hit !== undefined) void this.leaveFor(item.hit, vscode.ViewColumn.Beside);
  }

  keep(): void {
    if (this.answered === undefined) return;
    const { asked, found } = this.answered;
    this.leaving = true;
    this.note();
    this.list.hide();
    void this.preview.restore().then(() => {
      this.around.keep(asked, found);
      this.dispose();
    });
  }

  dispose(): void {
    this.asking.stop();
    this.preview.dispose();
    this.list.dispose();
  }

  /** What is typed narrows one answer down, and asks nothing. */
  private get isNarrowing(): boolean {
    return this.opening.subject === "similar";
  }

  private get asked(): Asked {
    const { subject, spot, query } = this.opening;
    const typed = this.isNarrowing ? query : this.list.value.trim();
    return { subject, query: typed, mode: this.mode.id, ...(spot === undefined ? {} : { spot }) };
  }

  private dress(): void {
    const how = this.opening.subject === "code" ? `: ${this.mode.title}` : "";
    this.list.title = `${this.opening.title}${how}`;
    this.list.buttons = this.opening.subject === "code" ? MODES.map((mode) => this.modeButton(mode)) : [];
  }

  private modeButton(mode: Mode): ToggleButton {
    const checked = mode.id === this.mode.id;
    return { mode, iconPath: new vscode.ThemeIcon(mode.icon), tooltip: mode.tooltip, toggle: { checked } };
  }

  private switchTo(mode: Mode): void {
    this.mode = mode;
    this.around.remember(mode.id);
    this.dress();
    this.askNow();
  }

  private askNow(): void {
    if (this.asked.query === "") this.showPast();
    else this.asking.now(this.asked);
  }

  private typed(): void {
    if (this.isNarrowing) return;
    if (this.asked.query === "") this.showPast();
    else this.asking.soon(this.asked);
  }

  private showPast(): void {
    this.asking.stop();
    this.answered = undefined;
    this.put(pastItems(this.around.shelf.history, this.opening.subject));
    this.list.busy = false;
  }

  private async ask(asked: Asked, signal: AbortSignal): Promise<Found> {
    const cancelling = new vscode.CancellationTokenSource();
    signal.addEventListener("abort", () => cancelling.cancel());
    try {
      return await find(this.around.sidecar, asked, cancelling.token);
    } finally {
      cancelling.dispose();
    }
  }

  private show(outcome: Outcome<Asked, Found>): void {
    this.list.busy = outcome.state === "asking";
    if (outcome.state === "asking") return;
    this.answered = undefined;
    if (outcome.state === "failed") this.put(adviceItems(adviceForError(outcome.error)));
    else if (outcome.answer.hits.length === 0)
      this.put(adviceItems(adviceForNothing(outcome.question, outcome.answer.reason)));
    else {
      this.answered = { asked: outcome.question, found: outcome.answer };
      this.put(hitItems(outcome.answer, this.opening.subject, this.isNarrowing));
    }
  }

  private put(items: readonly Item[]): void {
    this.untouched = true;
    this.list.items = items;
  }

  private movedTo(item: Item | undefined): void {
    const first = this.untouched;
    this.untouched = false;
    if (item?.hit !== undefined && !first) this.preview.show(item.hit);
  }

  private async accept(): Promise<void> {
    const item = this.list.activeItems[0];
    if (item?.hit !== undefined) await this.leaveFor(item.hit);
    else if (item?.past !== undefined) {
      this.mode = modeOf(item.past.mode);
      this.list.value = item.past.query;
      this.dress();
      this.askNow();
    } else if (item?.command !== undefined) {
      this.list.hide();
      await vscode.commands.executeCommand(item.command);
    }
  }

  private pressed(button: vscode.QuickInputButton, item?: Item): void {
    if (button === TO_THE_SIDE) this.openToSide(item);
    else if (button === KEEP) this.keep();
    else if ("mode" in button) this.switchTo((button as ToggleButton).mode);
  }

  private async leaveFor(hit: PlacedHit, column?: vscode.ViewColumn): Promise<void> {
    this.leaving = true;
    this.note();
    this.list.hide();
    // Beside the editor that was there before, not beside its preview.
    await (column === undefined ? this.preview.settled() : this.preview.restore());
    try {
      await openHit(hit, { preview: false, ...(column === undefined ? {} : { viewColumn: column }) });
    } catch (error) {
      void tell.error(said`Sidecar: ${hit.path} cannot be opened. ${String(error)}`);
    } finally {
      this.dispose();
    }
  }

  private note(): void {
    if (this.answered !== undefined) this.around.shelf.note(this.answered.asked, this.answered.found.hits.length);
  }

  private async hidden(): Promise<void> {
    this.asking.stop();
    this.around.closed();
    if (this.leaving) return;
    this.note();
    await this.preview.restore();
    this.dispose();
  }
}
