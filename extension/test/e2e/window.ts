// What a person sees and does in one window of the editor. Locators of the editor's inside are here and nowhere else.
//
// A machine may be so busy that seconds lie between two keys. So nothing here counts on a moment: a list is used when it
// is seen to be open and settled, what closed meanwhile is opened again, and texts that pass by are recorded.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, type Frame, type FrameLocator, type Locator, type Page } from "@playwright/test";
import { NOTICES_KEY, TIDIED, TIDY_KEY, type Editor } from "./editor";
import { PICTURES } from "./places";
import { acceptActiveRow, clearStatusBarTexts, recordStatusBar, statusBarTexts } from "./page";

const START_MS = 240_000;
/** For one try of what is tried again: a list that loses the focus closes, and whatever has just opened may take it. */
const TRY_MS = 5000;
/** For one try that waits for an answer of the sidecar. */
const ANSWER_MS = 20_000;
/** A toast stays longer than a look at the screen takes, and goes before this. */
const NOTICE_MS = 15_000;
const TRIES_MS = 120_000;
/** Beside a part of a picture, in pixels. */
const MARGIN = 16;

/** A palette that has its answer: the count stands above the first row. */
const ANSWERED = /\d+ (of \d+ )?results? in \d+ ms/;

export class Window {
  readonly input: Locator;
  readonly list: Locator;
  readonly rows: Locator;
  /** The title of the list that is open. */
  readonly title: Locator;
  readonly dialog: Locator;
  /** Notifications, wherever they stand: a toast goes into the notification centre by itself after some seconds. */
  readonly notices: Locator;
  /** The rows of the side bar's views. */
  readonly items: Locator;

  constructor(
    readonly page: Page,
    readonly editor: Editor,
  ) {
    this.input = page.locator(".quick-input-widget input.input");
    this.list = page.locator(".quick-input-list");
    this.rows = page.locator(".quick-input-widget").getByRole("option");
    this.title = page.locator(".quick-input-titlebar");
    this.dialog = page.locator(".monaco-dialog-box");
    this.notices = page.locator(".notification-list-item").filter({ visible: true });
    this.items = page.locator(".part.sidebar").getByRole("treeitem");
  }

  /** Loads the page; with `running`, until the sidecar runs. */
  async open(running = true): Promise<void> {
    await this.page.addInitScript(recordStatusBar);
    await this.page.goto(this.editor.url);
    await expect(this.page.locator(".statusbar-item").first()).toBeVisible({ timeout: START_MS });
    if (running) await this.sidecarRuns();
  }

  /** How often the sidecar has begun to answer since the editor was started, as its log tells. */
  timesStarted(): number {
    return this.editor
      .log()
      .split("\n")
      .filter((line) => line.endsWith("[info] running")).length;
  }

  async sidecarRuns(times = 1, timeout = START_MS): Promise<void> {
    await expect.poll(() => this.timesStarted(), { timeout }).toBeGreaterThanOrEqual(times);
  }

  /** Sets settings of the machine, as a person would in their file; the others of it stay. */
  setMachine(settings: Record<string, unknown>): void {
    const file = join(this.editor.root, "data/Machine/settings.json");
    const former = JSON.parse(readFileSync(file, "utf8")) as object;
    writeFileSync(file, JSON.stringify({ ...former, ...settings }));
  }

  /** Runs a command by its title, category included. What is selected stays so, which Escape would end. */
  async command(title: string): Promise<void> {
    let again = false;
    await expect(async () => {
      // A list that is open does not learn of commands that come later.
      if (again) await this.page.keyboard.press("Escape");
      again = true;
      await this.page.keyboard.press("F1");
      await expect(this.input).toHaveValue(/^>/, { timeout: TRY_MS });
      await this.input.fill(`>${title}`, { timeout: TRY_MS });
      await this.choose(title, TRY_MS);
    }).toPass({ timeout: TRIES_MS });
  }

  /** Accepts the row with this text in the list that is open. */
  async choose(text: string, timeout = ANSWER_MS): Promise<void> {
    await expect(this.rows.filter({ hasText: text }).first()).toBeVisible({ timeout });
    await expect
      .poll(
        async () => {
          const accepted = await this.page.evaluate(acceptActiveRow, text);
          if (!accepted) await this.page.keyboard.press("ArrowDown");
          return accepted;
        },
        { timeout },
      )
      .toBe(true);
  }

  /** Runs a command that opens a list, until that list is there and has the keyboard. */
  async openList(title: string): Promise<void> {
    await expect(async () => {
      await this.command(title);
      await this.listIsOpen();
    }).toPass({ timeout: TRIES_MS });
  }

  /** Runs a command that opens a list, and accepts the row with this text; where there are many, by typing it. */
  async chooseFrom(title: string, text: string, typed?: string): Promise<void> {
    await expect(async () => {
      await this.openList(title);
      if (typed !== undefined) await this.input.fill(typed, { timeout: TRY_MS });
      await this.choose(text);
    }).toPass({ timeout: TRIES_MS });
  }

  /** Opens a search and asks; the answer is there when this returns. */
  async search(query: string, title = "Sidecar: Search Code"): Promise<void> {
    await this.ask(query, title, () => this.answered(ANSWER_MS));
  }

  /** Opens a search and asks, until its first row says so. */
  async searchSays(query: string, text: string | RegExp, title?: string): Promise<void> {
    await this.ask(query, title, () => expect(this.row(0)).toContainText(text, { timeout: ANSWER_MS }));
  }

  async answered(timeout?: number): Promise<void> {
    const within = timeout === undefined ? {} : { timeout };
    await expect(this.page.locator(".quick-input-widget .monaco-progress-container.active")).toHaveCount(0, within);
    await expect(this.page.locator(".quick-input-widget")).toContainText(ANSWERED, within);
  }

  /** The answer that is there is one to a question with this word: a row has it. */
  async answeredWith(word: string): Promise<void> {
    await expect(this.list).toContainText(new RegExp(word, "i"));
    await this.answered();
  }

  /** Types into the list that is open, key by key, until it has been asked for what stands there now. */
  async typesOn(text: string): Promise<void> {
    const before = await this.input.inputValue();
    await this.page.keyboard.type(text);
    await expect(this.input).toHaveValue(before + text);
  }

  /** Opens the menu of a row and chooses there. By Enter: the menu takes no mouse button in its first 100 ms. */
  async chooseFromMenuOf(row: Locator, title: string | RegExp): Promise<void> {
    await row.click({ button: "right", timeout: TRY_MS });
    const entry = this.page.locator(".monaco-menu .action-item").filter({ hasText: title });
    await entry.hover({ timeout: TRY_MS });
    await expect(entry).toHaveClass(/\bfocused\b/, { timeout: TRY_MS });
    await this.page.keyboard.press("Enter");
  }

  /** As `search`, by the key: what is selected in the editor stays so. */
  async searchByKey(query: string): Promise<void> {
    await this.editorHasKeyboard();
    await this.page.keyboard.press("Alt+Shift+S");
    await this.listIsOpen();
    await this.fillAnew(query);
    await this.answered();
  }

  /** The place that a row of the palette names: `path:line` or `path:first–last`. */
  async placeOf(at: number): Promise<{ path: string; file: string; line: number }> {
    const place = /([\w/.-]+\.\w+):(\d+)/;
    const description = this.row(at).locator(".label-description").first();
    // The list is drawn anew while it fills.
    await expect(description).toContainText(place);
    const [, path = "", line = ""] = place.exec((await description.textContent()) ?? "") ?? [];
    return { path, file: path.split("/").at(-1) ?? "", line: Number(line) };
  }

  /** The line below the input of the list that is open. */
  get prompt(): Locator {
    return this.page.locator(".quick-input-widget .quick-input-message");
  }

  /** Whether what stands on screen where this is, at its beginning and in its middle, is this. */
  async isUncovered(part: Locator): Promise<boolean> {
    return part.evaluate((element) => {
      const { left, width, top, height } = element.getBoundingClientRect();
      return [left + 4, left + width / 2].every((x) => {
        const there = document.elementFromPoint(x, top + height / 2);
        return there !== null && (element.contains(there) || there.contains(element));
      });
    });
  }

  /** How far the file on screen is scrolled, as the editor's own style says it. */
  async scrolledTo(): Promise<string> {
    return this.page
      .locator(".part.editor .lines-content")
      .first()
      .evaluate((lines) => lines.style.top);
  }

  /** Searches, and keeps the results in view. */
  async keep(query: string): Promise<void> {
    await this.search(query);
    await this.page.keyboard.press("Alt+K");
    // The view takes the focus when it is filled; before that it would take it from what comes next.
    const file = this.items.and(this.page.getByLabel(/, \d+ results?$/)).first();
    await expect(file).toHaveAttribute("aria-selected", "true");
    // A file's row is there before its hits.
    await expect(this.items.nth(1)).toHaveAttribute("aria-label", /, score \d/);
    await expect(this.input).toBeHidden();
  }

  /** The nth row of the open list. */
  row(at: number): Locator {
    return this.rows.filter({ hasNot: this.page.locator(".quick-input-list-separator-as-item") }).nth(at);
  }

  /** Waits for a notification: on screen as a toast, or in the notification centre, where one goes that nobody touched. */
  async notice(text: string | RegExp, buttons: string[] = [], timeout = TRIES_MS): Promise<void> {
    const notice = this.notices.filter({ hasText: text }).first();
    await this.withNotices(async () => {
      await expect(notice).toBeVisible({ timeout: NOTICE_MS });
      for (const name of buttons) await expect(this.button(notice, name)).toBeVisible({ timeout: TRY_MS });
    }, timeout);
  }

  /** Presses a button of the dialog or of the notification with this text, whichever asks. */
  async answer(text: string | RegExp, button: string | RegExp): Promise<void> {
    const question = this.question(text);
    const name = typeof button === "string" ? { name: button, exact: true } : { name: button };
    await this.withNotices(() => question.getByRole("button", name).first().click({ timeout: TRY_MS }), TRIES_MS);
  }

  /**
   * Answers a question of somebody else's where it stands on screen. An answer that comes with the question is not taken,
   * so it is given until the question has gone.
   */
  async answerQuestion(text: string | RegExp, link: string): Promise<void> {
    const question = this.question(text);
    await this.withNotices(() => expect(question.first()).toBeVisible({ timeout: TRY_MS }), TRIES_MS);
    await expect(async () => {
      if ((await question.count()) > 0)
        await question.getByRole("link", { name: link, exact: true }).first().click({ timeout: TRY_MS });
      await expect(question).toHaveCount(0, { timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
  }

  /** The dialog or the notification with this text, whichever asks. */
  question(text: string | RegExp): Locator {
    return this.dialog.or(this.notices).filter({ hasText: text });
  }

  /** How many questions the icon of the extension's views counts; empty: none. */
  get count(): Locator {
    return this.page
      .locator(".activitybar .action-item")
      .filter({ has: this.page.getByLabel(/^Sidecar/) })
      .locator(".badge-content");
  }

  /** The file that is open has the keyboard, and nothing has taken it. */
  async typesInto(text: string): Promise<void> {
    await this.editorHasKeyboard();
    await this.page.keyboard.type(text);
    await this.editorHasKeyboard();
  }

  button(within: Locator, name: string): Locator {
    return within.getByRole("button", { name, exact: true });
  }

  statusItem(text: string | RegExp): Locator {
    return this.page.locator(".statusbar-item", { hasText: text });
  }

  /** Waits until the status bar has shown a text, which may be gone again by now, since the test began. */
  async statusBarSaid(text: string | RegExp, timeout?: number): Promise<void> {
    const wanted = typeof text === "string" ? expect.stringContaining(text) : expect.stringMatching(text);
    const options = { intervals: [50], ...(timeout === undefined ? {} : { timeout }) };
    await expect.poll(() => this.page.evaluate(statusBarTexts), options).toContainEqual(wanted);
  }

  /** Every text that the status bar has shown since it was last forgotten. */
  async statusBarTexts(): Promise<string[]> {
    return this.page.evaluate(statusBarTexts);
  }

  /** From now on only what comes counts as said by the status bar. */
  async forgetStatusBar(): Promise<void> {
    await this.page.evaluate(clearStatusBarTexts);
  }

  /** Waits until hovering over an item of the status bar shows a text, and returns what is shown. */
  async hover(item: Locator, text: string): Promise<Locator> {
    const hover = this.page.locator(".monaco-hover").filter({ hasText: text });
    await expect(async () => {
      // The editor closes it when the item changes meanwhile.
      await this.page.mouse.move(0, 0);
      await item.hover({ timeout: TRY_MS });
      await expect(hover).toBeVisible({ timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
    return hover;
  }

  /** The tab of an open file. */
  tab(name: string): Locator {
    return this.page.locator(".tabs-container").getByRole("tab", { name: new RegExp(name.replaceAll(".", "\\.")) });
  }

  async cursorIsAt(line: number, timeout?: number): Promise<void> {
    await expect(this.statusItem(new RegExp(`Ln ${line}\\b`))).toBeVisible(timeout === undefined ? {} : { timeout });
  }

  async openFile(path: string): Promise<void> {
    const name = path.split("/").at(-1) ?? path;
    let isFirst = true;
    await expect(async () => {
      // While the list stays open, the editor does not look for files that have come since.
      if (!isFirst) await this.page.keyboard.press("Escape");
      isFirst = false;
      await this.page.keyboard.press("Control+P");
      await this.input.fill(path, { timeout: TRY_MS });
      await this.choose(name, TRY_MS);
      await expect(this.tab(name)).toHaveAttribute("aria-selected", "true", { timeout: TRY_MS });
      await this.editorHasKeyboard();
    }).toPass({ timeout: TRIES_MS });
  }

  async goToLine(line: number): Promise<void> {
    await expect(async () => {
      await this.page.keyboard.press("Control+G");
      // Another list may be closing still, and Enter means nothing before the row is there.
      await expect(this.input).toHaveValue(/^:/, { timeout: TRY_MS });
      await this.input.fill(`:${line}`, { timeout: TRY_MS });
      await this.choose(String(line), TRY_MS);
      await this.cursorIsAt(line, TRY_MS);
      await this.editorHasKeyboard();
    }).toPass({ timeout: TRIES_MS });
  }

  /** Selects the last word of a line of the file on screen. */
  async selectLastWord(line: number): Promise<void> {
    await expect(async () => {
      await this.goToLine(line);
      await this.page.keyboard.press("End");
      await this.page.keyboard.press("Control+Shift+ArrowLeft");
      await expect(this.statusItem("selected")).toBeVisible({ timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
  }

  /** Puts text at the end of the file on screen, all at once: nothing is completed or indented in between. */
  async append(text: string): Promise<void> {
    const last = text.trim().split("\n").at(-1) ?? text;
    await expect(async () => {
      await this.editorHasKeyboard();
      await this.page.keyboard.press("Control+End");
      await this.page.keyboard.insertText(text);
      await expect(this.page.locator(".part.editor .view-lines")).toContainText(last, { timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
  }

  /** A file's tab is there before what is typed goes to it. */
  private async editorHasKeyboard(): Promise<void> {
    await expect(this.input).toBeHidden({ timeout: TRY_MS });
    await expect(this.page.locator(".part.editor .monaco-editor.focused")).toHaveCount(1, { timeout: TRY_MS });
  }

  /** Chooses a row of the side bar by a click. Rows move while others are filled in, so it counts when it is seen. */
  async select(row: Locator): Promise<void> {
    await expect(async () => {
      await row.click({ timeout: TRY_MS });
      await expect(row).toHaveAttribute("aria-selected", "true", { timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
  }

  /** Brings up the extension's own views. */
  async openView(): Promise<void> {
    await this.command("View: Show Sidecar");
    await expect(this.page.locator(".part.sidebar .composite.title")).toContainText("Sidecar");
  }

  /** Switches the colours by the theme's name. */
  async theme(name: string): Promise<void> {
    // The list has more themes than it draws.
    await this.chooseFrom("Preferences: Color Theme", name, name);
    await expect(this.input).toBeHidden();
  }

  /** The content of the webview that is on screen. */
  webview(): FrameLocator {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }

  /** Keeps what is on screen, or one part of it, as a file that a person can look at. */
  async picture(name: string, part?: Locator): Promise<void> {
    mkdirSync(PICTURES, { recursive: true });
    await (part ?? this.page).screenshot({ path: join(PICTURES, `${name}.png`) });
  }

  /** Keeps what is on screen from the top of one part to the end of another one below it. */
  async pictureFromTo(name: string, first: Locator, last: Locator): Promise<void> {
    const [from, to] = [await first.boundingBox(), await last.boundingBox()];
    if (from === null || to === null) throw new Error("not on screen");
    const width = from.width + 2 * MARGIN;
    const clip = { x: from.x - MARGIN, y: from.y, width, height: to.y + to.height - from.y + MARGIN / 2 };
    mkdirSync(PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`), clip });
  }

  /** Back to an empty editor: what a test has left open is closed, unsaved text is thrown away. */
  async tidy(): Promise<void> {
    await expect(async () => {
      for (const _ of [1, 2, 3]) await this.page.keyboard.press("Escape");
      await this.page.keyboard.press(TIDY_KEY);
      // The last of what the key does. What is not over yet would take the focus from what the next test opens.
      await expect(this.input).toHaveValue(TIDIED, { timeout: TRY_MS });
      await this.page.keyboard.press("Escape");
      await expect(this.input).toBeHidden({ timeout: TRY_MS });
      await expect(this.page.locator(".tabs-container").getByRole("tab")).toHaveCount(0, { timeout: TRY_MS });
      await expect(this.notices).toHaveCount(0, { timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
    await this.forgetStatusBar();
  }

  private async ask(query: string, title = "Sidecar: Search Code", heard: () => Promise<void>): Promise<void> {
    await expect(async () => {
      await this.openList(title);
      await this.fillAnew(query);
      await heard();
    }).toPass({ timeout: TRIES_MS });
  }

  /** The former question is there when the list opens, and its answer must not be taken for the one to this. */
  async fillAnew(query: string): Promise<void> {
    await this.input.fill("", { timeout: TRY_MS });
    await expect(this.page.locator(".quick-input-widget")).not.toContainText(ANSWERED, { timeout: TRY_MS });
    await this.input.fill(query, { timeout: TRY_MS });
  }

  /** The list that is open is not the one of commands, and what is typed goes to it. */
  private async listIsOpen(): Promise<void> {
    await expect(this.input).toBeFocused({ timeout: TRY_MS });
    await expect(this.input).not.toHaveValue(/^>/, { timeout: TRY_MS });
  }

  /** Does something with a notification; what is not on screen as a toast is looked for in the notification centre. */
  private async withNotices(act: () => Promise<void>, timeout: number): Promise<void> {
    let again = false;
    await expect(async () => {
      if (again) await this.page.keyboard.press(NOTICES_KEY);
      again = true;
      await act();
    }).toPass({ timeout });
  }
}

export type { Frame };
