// What a user sees and does in one window of the editor. Only this file contains locators of the editor's elements.
//
// On a busy machine, seconds may pass between two keys. So nothing here depends on timing: a list is used once it is open
// and settled, what has closed meanwhile is opened again, and texts that are visible only briefly are recorded.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, type Browser, type Frame, type FrameLocator, type Locator, type Page } from "@playwright/test";
import { NOTICES_KEY, TIDIED, TIDY_KEY, type Editor } from "./editor";
import { PICTURES } from "./places";
import { acceptActiveRow, clearStatusBarTexts, drawn, recordStatusBar, statusBarTexts } from "./page";

const START_MS = 240_000;
/** The limit, in milliseconds, of one attempt at what is retried: a list closes if anything else takes the focus. */
const TRY_MS = 5000;
/** The limit, in milliseconds, of one attempt that waits for an answer of the sidecar. */
const ANSWER_MS = 20_000;
/** A toast closes by itself within this time, in milliseconds. */
const NOTICE_MS = 15_000;
const TRIES_MS = 120_000;
/** How often a page is loaded again that shows a workspace without its folders. */
const MOST_LOADS = 3;
/** The margin around a part of a picture, in pixels. */
const MARGIN = 16;

/** The count above the first row, which a palette shows once it has its answer. */
const ANSWERED = /\d+ (of \d+ )?results? in \d+ ms/;

export class Window {
  readonly input: Locator;
  readonly list: Locator;
  readonly rows: Locator;
  /** The title of the open list. */
  readonly title: Locator;
  readonly dialog: Locator;
  /** Notifications, as toasts or in the notification centre, where a toast goes after some seconds. */
  readonly notices: Locator;
  /** The rows of the side bar's views. */
  readonly items: Locator;
  /** The first file of the results that were kept last in this test. */
  private kept: string | undefined;

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

  /** Loads the page; with `running`, also waits until the sidecar runs. */
  async open(running = true): Promise<void> {
    await this.page.addInitScript(recordStatusBar);
    await this.page.goto(this.editor.url);
    await expect(this.page.locator(".statusbar-item").first()).toBeVisible({ timeout: START_MS });
    if (running) await this.sidecarRuns();
  }

  /** Opens a second window on the same folder. */
  async another(browser: Browser): Promise<Window> {
    const started = this.timesStarted();
    const other = new Window(await browser.newPage({ viewport: { width: 1280, height: 850 } }), this.editor);
    await other.open(false);
    await other.sidecarRuns(started + 1);
    return other;
  }

  /** Returns how often the sidecar has started since the editor was started, by its log. */
  timesStarted(): number {
    return this.editor
      .log()
      .split("\n")
      .filter((line) => line.endsWith("[info] running")).length;
  }

  /**
   * Waits until the sidecar has started so many times since the editor was started. Now and then the editor reads the file
   * of a workspace too early, and shows none of its folders for as long as the page stays; then the page is loaded again.
   */
  async sidecarRuns(times = 1, timeout = START_MS): Promise<void> {
    const runs = () => this.timesStarted() >= times;
    const lacksFolders = this.page.getByText("You have not yet added a folder to the workspace.");
    for (let loads = 0; loads < MOST_LOADS; loads++) {
      await expect.poll(async () => runs() || (await lacksFolders.isVisible()), { timeout }).toBe(true);
      // Without folders it is for a moment too while they are loaded.
      const [done] = await Promise.allSettled([expect.poll(runs, { timeout: NOTICE_MS }).toBe(true)]);
      if (done.status === "fulfilled") return;
      await this.page.reload();
    }
    await expect.poll(runs, { timeout }).toBe(true);
  }

  /** Changes some machine settings, as a user would in the settings file; the others stay. */
  setMachine(settings: Record<string, unknown>): void {
    const file = join(this.editor.root, "data/Machine/settings.json");
    const former = JSON.parse(readFileSync(file, "utf8")) as object;
    // At once: the editor must not read a file that is empty or half written, which would be other settings.
    writeFileSync(`${file}.new`, JSON.stringify({ ...former, ...settings }));
    renameSync(`${file}.new`, file);
  }

  /** Runs a command by its title with the category. Keeps the selection, which Escape would clear. */
  async command(title: string): Promise<void> {
    let again = false;
    await expect(async () => {
      // An open list does not show commands that are registered later.
      if (again) await this.page.keyboard.press("Escape");
      again = true;
      await this.page.keyboard.press("F1");
      await expect(this.input).toHaveValue(/^>/, { timeout: TRY_MS });
      await this.input.fill(`>${title}`, { timeout: TRY_MS });
      await this.choose(title, TRY_MS);
    }).toPass({ timeout: TRIES_MS });
  }

  /** Accepts the row with this text in the open list. */
  async choose(text: string, timeout = ANSWER_MS): Promise<void> {
    await expect(this.rows.filter({ hasText: text }).first()).toBeVisible({ timeout });
    const end = Date.now() + timeout;
    // An attempt is never given up halfway, because the row that it accepts after all would be accepted twice.
    while (!(await this.page.evaluate(acceptActiveRow, text))) {
      if (Date.now() > end) throw new Error(`no row with "${text}" could be chosen within ${timeout} ms`);
      await this.page.keyboard.press("ArrowDown");
      await this.page.evaluate(drawn);
    }
  }

  /** Runs a command that opens a list, repeatedly until the list is open and has the focus. */
  async openList(title: string): Promise<void> {
    await expect(async () => {
      await this.command(title);
      await this.listIsOpen();
    }).toPass({ timeout: TRIES_MS });
  }

  /** Runs a command that opens a list, and accepts the row with this text; types it if there are many rows. */
  async chooseFrom(title: string, text: string, typed?: string): Promise<void> {
    await expect(async () => {
      await this.openList(title);
      if (typed !== undefined) await this.input.fill(typed, { timeout: TRY_MS });
      await this.choose(text);
    }).toPass({ timeout: TRIES_MS });
  }

  /** Opens a search, types the question, and returns when the answer is on screen. */
  async search(query: string, title = "Sidecar: Search Code"): Promise<void> {
    await this.ask(query, title, () => this.answered(ANSWER_MS));
  }

  /** Opens a search and types the question, repeatedly until the first row matches. */
  async searchSays(query: string, text: string | RegExp, title?: string): Promise<void> {
    await this.ask(query, title, () => expect(this.row(0)).toContainText(text, { timeout: ANSWER_MS }));
  }

  async answered(timeout?: number): Promise<void> {
    const within = timeout === undefined ? {} : { timeout };
    await expect(this.busy).toHaveCount(0, within);
    await expect(this.page.locator(".quick-input-widget")).toContainText(ANSWERED, within);
  }

  /** Waits until the answer on screen belongs to a question with this word, which a row then contains. */
  async answeredWith(word: string): Promise<void> {
    await expect(this.list).toContainText(new RegExp(word, "i"));
    await this.answered();
  }

  /** Types into the open list, key by key, and waits until its input shows the text. */
  async typesOn(text: string): Promise<void> {
    const before = await this.input.inputValue();
    await this.page.keyboard.type(text);
    await expect(this.input).toHaveValue(before + text);
  }

  /**
   * Adds a word to the open list's input at once, and waits for its answer, whose rows have it. While a word is typed key by
   * key, its beginnings may be answered too, and find the same.
   */
  async addsWord(word: string): Promise<void> {
    const before = await this.input.inputValue();
    await expect(this.list).not.toContainText(word);
    await this.page.keyboard.insertText(` ${word}`);
    await expect(this.input).toHaveValue(`${before} ${word}`);
    await this.answeredWith(word);
  }

  /** Opens the menu of a row and chooses an entry with Enter, because the menu ignores the mouse for its first 100 ms. */
  async chooseFromMenuOf(row: Locator, title: string | RegExp): Promise<void> {
    await row.click({ button: "right", timeout: TRY_MS });
    const entry = this.page.locator(".monaco-menu .action-item").filter({ hasText: title });
    await entry.hover({ timeout: TRY_MS });
    await expect(entry).toHaveClass(/\bfocused\b/, { timeout: TRY_MS });
    await this.page.keyboard.press("Enter");
  }

  /** Like `search`, but by the key, which keeps the editor's selection. */
  async searchByKey(query: string): Promise<void> {
    await this.editorHasKeyboard();
    await this.page.keyboard.press("Alt+Shift+S");
    await this.listIsOpen();
    await this.fillAnew(query);
    await this.answered();
  }

  /** Returns the place that a row of the palette names: `path:line` or `path:first–last`. */
  async placeOf(at: number): Promise<{ path: string; file: string; line: number }> {
    const place = /([\w/.-]+\.\w+):(\d+)/;
    const description = this.row(at).locator(".label-description").first();
    // The list is redrawn while it fills.
    await expect(description).toContainText(place);
    const [, path = "", line = ""] = place.exec((await description.textContent()) ?? "") ?? [];
    return { path, file: path.split("/").at(-1) ?? "", line: Number(line) };
  }

  /** The progress of the open list, while it has one. */
  private get busy(): Locator {
    return this.page.locator(".quick-input-widget .monaco-progress-container.active");
  }

  /** The line below the input of the open list. */
  get prompt(): Locator {
    return this.page.locator(".quick-input-widget .quick-input-message");
  }

  /** Whether this element is visible and not covered, at its start and in its middle. */
  async isUncovered(part: Locator): Promise<boolean> {
    return part.evaluate((element) => {
      const { left, width, top, height } = element.getBoundingClientRect();
      return [left + 4, left + width / 2].every((x) => {
        const there = document.elementFromPoint(x, top + height / 2);
        return there !== null && (element.contains(there) || there.contains(element));
      });
    });
  }

  /** Returns the scroll position of the file on screen, as the editor's style states it. */
  async scrolledTo(): Promise<string> {
    return this.page
      .locator(".part.editor .lines-content")
      .first()
      .evaluate((lines) => lines.style.top);
  }

  /** Searches, and keeps the results in the results view. Of two answers in one test, the first files have to differ. */
  async keep(query: string): Promise<void> {
    await this.search(query);
    await this.page.keyboard.press("Alt+K");
    // The view takes the focus once it is filled, which must not happen during the next step. Until then it may show what
    // it held before, with its first file selected.
    const file = this.items.and(this.page.getByLabel(/, \d+ results?$/)).first();
    if (this.kept !== undefined) await expect(file).not.toHaveAttribute("aria-label", this.kept);
    await expect(file).toHaveAttribute("aria-selected", "true");
    this.kept = (await file.getAttribute("aria-label")) ?? undefined;
    // The row of a file appears before those of its hits.
    await expect(this.items.nth(1)).toHaveAttribute("aria-label", /, score \d/);
    await expect(this.input).toBeHidden();
  }

  /** The nth row of the open list. */
  row(at: number): Locator {
    return this.rows.filter({ hasNot: this.page.locator(".quick-input-list-separator-as-item") }).nth(at);
  }

  /** Waits for a notification, as a toast or in the notification centre, where an untouched toast goes. */
  async notice(text: string | RegExp, buttons: string[] = [], timeout = TRIES_MS): Promise<void> {
    const notice = this.notices.filter({ hasText: text }).first();
    await this.withNotices(async () => {
      await expect(notice).toBeVisible({ timeout: NOTICE_MS });
      for (const name of buttons) await expect(this.button(notice, name)).toBeVisible({ timeout: TRY_MS });
    }, timeout);
  }

  /** Presses a button of the dialog or notification with this text. */
  async answer(text: string | RegExp, button: string | RegExp): Promise<void> {
    const question = this.question(text);
    const name = typeof button === "string" ? { name: button, exact: true } : { name: button };
    await this.withNotices(() => question.getByRole("button", name).first().click({ timeout: TRY_MS }), TRIES_MS);
  }

  /**
   * Answers another program's question on screen. The editor ignores an answer given as the question appears, so the
   * answer is repeated until the question is gone.
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

  /** The dialog or notification with this text. */
  question(text: string | RegExp): Locator {
    return this.dialog.or(this.notices).filter({ hasText: text });
  }

  /** Returns the number of questions on the icon of the extension's views; empty if there is none. */
  get count(): Locator {
    return this.page
      .locator(".activitybar .action-item")
      .filter({ has: this.page.getByLabel(/^Sidecar/) })
      .locator(".badge-content");
  }

  /** Waits until the open file has the focus. */
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

  /** Waits until the status bar has shown a text since the test began, even if it shows another one by now. */
  async statusBarSaid(text: string | RegExp, timeout?: number): Promise<void> {
    const wanted = typeof text === "string" ? expect.stringContaining(text) : expect.stringMatching(text);
    const options = { intervals: [50], ...(timeout === undefined ? {} : { timeout }) };
    await expect.poll(() => this.page.evaluate(statusBarTexts), options).toContainEqual(wanted);
  }

  /** Returns every text that the status bar has shown since its record was last cleared. */
  async statusBarTexts(): Promise<string[]> {
    return this.page.evaluate(statusBarTexts);
  }

  /** Clears the record of what the status bar has shown. */
  async forgetStatusBar(): Promise<void> {
    await this.page.evaluate(clearStatusBarTexts);
  }

  /** Waits until hovering over an item of the status bar shows a text, and returns what is shown. */
  async hover(item: Locator, text: string): Promise<Locator> {
    const hover = this.page.locator(".monaco-hover").filter({ hasText: text });
    await expect(async () => {
      // The editor closes the hover if the item changes meanwhile.
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
      // While the list is open, the editor does not look for new files.
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
      // Another list may still be closing, and Enter does nothing before the row is there.
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

  /** Appends text to the file on screen at once, so that the editor neither completes nor indents anything. */
  async append(text: string): Promise<void> {
    const last = text.trim().split("\n").at(-1) ?? text;
    await expect(async () => {
      await this.editorHasKeyboard();
      await this.page.keyboard.press("Control+End");
      await this.page.keyboard.insertText(text);
      await expect(this.page.locator(".part.editor .view-lines")).toContainText(last, { timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
  }

  /** Waits for the focus too, because a file's tab appears before typed text goes to the file. */
  private async editorHasKeyboard(): Promise<void> {
    await expect(this.input).toBeHidden({ timeout: TRY_MS });
    await expect(this.page.locator(".part.editor .monaco-editor.focused")).toHaveCount(1, { timeout: TRY_MS });
  }

  /** Selects a row of the side bar by clicks, until it is selected: rows move while the view fills. */
  async select(row: Locator): Promise<void> {
    await expect(async () => {
      await row.click({ timeout: TRY_MS });
      await expect(row).toHaveAttribute("aria-selected", "true", { timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
  }

  /** Opens the extension's views. */
  async openView(): Promise<void> {
    await this.command("View: Show Sidecar");
    await expect(this.page.locator(".part.sidebar .composite.title")).toContainText("Sidecar");
  }

  /** Switches to the theme with this name. */
  async theme(name: string): Promise<void> {
    // The list has more rows than it draws.
    await this.chooseFrom("Preferences: Color Theme", name, name);
    await expect(this.input).toBeHidden();
  }

  /** The content of the visible webview. */
  webview(): FrameLocator {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }

  /** Saves a picture of the screen, or of a part of it. */
  async picture(name: string, part?: Locator): Promise<void> {
    mkdirSync(PICTURES, { recursive: true });
    await (part ?? this.page).screenshot({ path: join(PICTURES, `${name}.png`) });
  }

  /** Saves a picture from the top of one element to the bottom of another one below it. */
  async pictureFromTo(name: string, first: Locator, last: Locator): Promise<void> {
    const [from, to] = [await first.boundingBox(), await last.boundingBox()];
    if (from === null || to === null) throw new Error("not on screen");
    const width = from.width + 2 * MARGIN;
    const clip = { x: from.x - MARGIN, y: from.y, width, height: to.y + to.height - from.y + MARGIN / 2 };
    mkdirSync(PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`), clip });
  }

  /** Returns to an empty editor: closes what a test has left open, and discards unsaved text. */
  async tidy(): Promise<void> {
    await expect(async () => {
      for (const _ of [1, 2, 3]) await this.page.keyboard.press("Escape");
      await this.page.keyboard.press(TIDY_KEY);
      // This is the last step of the key's command. A step that came later would take the focus from the next test.
      await expect(this.input).toHaveValue(TIDIED, { timeout: TRY_MS });
      await this.page.keyboard.press("Escape");
      await expect(this.input).toBeHidden({ timeout: TRY_MS });
      await expect(this.page.locator(".tabs-container").getByRole("tab")).toHaveCount(0, { timeout: TRY_MS });
      await expect(this.notices).toHaveCount(0, { timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
    // A toast below the mouse would stay for ever.
    await this.page.mouse.move(0, 0);
    await this.forgetStatusBar();
    this.kept = undefined;
  }

  private async ask(query: string, title = "Sidecar: Search Code", heard: () => Promise<void>): Promise<void> {
    await expect(async () => {
      await this.openList(title);
      await this.fillAnew(query);
      await heard();
    }).toPass({ timeout: TRIES_MS });
  }

  /** The list opens with the previous question, whose answer must not be mistaken for the new one. */
  async fillAnew(query: string): Promise<void> {
    await this.input.fill("", { timeout: TRY_MS });
    // While the list still awaits that answer, it has no count either.
    await expect(this.busy).toHaveCount(0, { timeout: TRY_MS });
    await expect(this.page.locator(".quick-input-widget")).not.toContainText(ANSWERED, { timeout: TRY_MS });
    await this.input.fill(query, { timeout: TRY_MS });
  }

  /** Waits until a list other than that of the commands is open and has the focus. */
  private async listIsOpen(): Promise<void> {
    await expect(this.input).toBeFocused({ timeout: TRY_MS });
    await expect(this.input).not.toHaveValue(/^>/, { timeout: TRY_MS });
  }

  /** Acts on a notification: on the toast, or else in the notification centre. */
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
