// What a person sees and does in one window of the editor. Locators of the editor's inside are here and nowhere else.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, type Frame, type FrameLocator, type Locator, type Page } from "@playwright/test";
import { TIDY_KEY, type Editor } from "./editor";
import { PICTURES } from "./places";

const START_MS = 120_000;
/** For one try of what is tried again: a list that loses the focus closes, and whatever has just opened may take it. */
const TRY_MS = 4000;
const TRIES_MS = 60_000;

export class Window {
  readonly input: Locator;
  readonly rows: Locator;
  readonly dialog: Locator;
  readonly toasts: Locator;

  constructor(
    readonly page: Page,
    readonly editor: Editor,
  ) {
    this.input = page.locator(".quick-input-widget input.input");
    this.rows = page.locator(".quick-input-widget").getByRole("option");
    this.dialog = page.locator(".monaco-dialog-box");
    this.toasts = page.locator(".notification-toast");
  }

  /** Loads the page; with `running`, until the sidecar runs. */
  async open(running = true): Promise<void> {
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
    const row = this.rows.filter({ hasText: title }).first();
    let again = false;
    await expect(async () => {
      // A list that is open does not learn of commands that come later.
      if (again) await this.page.keyboard.press("Escape");
      again = true;
      await this.page.keyboard.press("F1");
      await this.input.fill(`>${title}`, { timeout: TRY_MS });
      await row.click({ timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
  }

  /** The nth row of the open list. */
  row(at: number): Locator {
    return this.rows.filter({ hasNot: this.page.locator(".quick-input-list-separator-as-item") }).nth(at);
  }

  toast(text: string | RegExp): Locator {
    return this.toasts.filter({ hasText: text });
  }

  /** The dialog or the notification with this text, whichever asks. */
  question(text: string | RegExp): Locator {
    return this.dialog.or(this.toasts).filter({ hasText: text });
  }

  button(within: Locator, name: string): Locator {
    return within.getByRole("button", { name, exact: true });
  }

  statusItem(text: string | RegExp): Locator {
    return this.page.locator(".statusbar-item", { hasText: text });
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
    await expect(async () => {
      await this.page.keyboard.press("Control+P");
      await this.input.fill(path, { timeout: TRY_MS });
      await expect(this.rows.first()).toContainText(name, { timeout: TRY_MS });
      await this.page.keyboard.press("Enter");
      await expect(this.tab(name)).toHaveAttribute("aria-selected", "true", { timeout: TRY_MS });
      // Its tab is there before what is typed goes to it.
      await expect(this.page.locator(".part.editor .monaco-editor.focused")).toHaveCount(1, { timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
  }

  async goToLine(line: number): Promise<void> {
    await expect(async () => {
      await this.page.keyboard.press("Control+G");
      // Another list may be closing still, and Enter means nothing before the row is there.
      await expect(this.input).toHaveValue(/^:/, { timeout: TRY_MS });
      await this.input.fill(`:${line}`, { timeout: TRY_MS });
      await expect(this.rows.first()).toContainText(String(line), { timeout: TRY_MS });
      await this.page.keyboard.press("Enter");
      await this.cursorIsAt(line, TRY_MS);
    }).toPass({ timeout: TRIES_MS });
  }

  /** Selects the last word of a line of the file on screen. */
  async selectLastWord(line: number): Promise<void> {
    await this.goToLine(line);
    await this.page.keyboard.press("End");
    await this.page.keyboard.press("Control+Shift+ArrowLeft");
    await expect(this.statusItem("selected")).toBeVisible();
  }

  /** Brings up the extension's own views. */
  async openView(): Promise<void> {
    await this.command("View: Show Sidecar");
    await expect(this.page.locator(".part.sidebar .composite.title")).toContainText("Sidecar");
  }

  /** Switches the colours by the theme's name. */
  async theme(name: string): Promise<void> {
    await this.command("Preferences: Color Theme");
    await this.input.fill(name);
    await this.rows.filter({ hasText: name }).first().click();
    await expect(this.input).toBeHidden();
  }

  /** The content of the webview that is on screen. */
  webview(): FrameLocator {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
  }

  /** Keeps what is on screen as a file that a person can look at. */
  async picture(name: string): Promise<void> {
    mkdirSync(PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }

  /** Back to an empty editor: what a test has left open is closed, unsaved text is thrown away. */
  async tidy(): Promise<void> {
    await expect(async () => {
      for (const _ of [1, 2, 3]) await this.page.keyboard.press("Escape");
      await this.page.keyboard.press(TIDY_KEY);
      await expect(this.page.locator(".tabs-container").getByRole("tab")).toHaveCount(0, { timeout: TRY_MS });
      await expect(this.toasts).toHaveCount(0, { timeout: TRY_MS });
    }).toPass({ timeout: TRIES_MS });
  }
}

export type { Frame };
