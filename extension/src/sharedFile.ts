// A small JSON file that several windows have open at once. The editor's own storage is no place for it: each window
// keeps all of that in memory and writes it as a whole, so the last window would take back what the others have stored.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** A value that others may change too. */
export interface Shared<T> {
  /** As it was when it was last read or changed here. */
  readonly value: T;
  /** Applies a change to what is there by now. Returns whether it could be stored. */
  change(work: (present: T) => T): boolean;
}

export class SharedFile<T extends object> implements Shared<T> {
  private known: T;
  /** Whether the file was there when it was last read or written here. */
  private stored = false;
  /** Whether `known` has a change that could not be written. */
  private unwritten = false;

  /**
   * `initial` counts until there is a file, and for what is missing in it. `troubled` gets the error if it cannot be
   * written; the change then holds in this window only, until it can be written with a later one.
   */
  constructor(
    private readonly file: string,
    private readonly initial: T,
    private readonly troubled: (error: unknown) => void,
  ) {
    this.known = initial;
    this.known = this.present();
  }

  get value(): T {
    return this.known;
  }

  change(work: (present: T) => T): boolean {
    this.known = work(this.unwritten ? this.known : this.present());
    // Another window must never read a file that is half written.
    const made = `${this.file}.${process.pid}`;
    try {
      mkdirSync(dirname(this.file), { recursive: true });
      writeFileSync(made, JSON.stringify(this.known), { mode: 0o600 });
      renameSync(made, this.file);
      this.stored = true;
      this.unwritten = false;
    } catch (error) {
      this.unwritten = true;
      discard(made);
      this.troubled(error);
    }
    return !this.unwritten;
  }

  /** Reads what other windows have stored, or that they have removed it. Returns whether it is something new. */
  reload(): boolean {
    const before = JSON.stringify(this.known);
    if (!this.unwritten) this.known = this.present();
    return JSON.stringify(this.known) !== before;
  }

  /** What is stored; what was known last if the file cannot be used; `initial` if it has been removed. */
  private present(): T {
    try {
      const stored: unknown = JSON.parse(readFileSync(this.file, "utf8"));
      if (!isPlain(stored)) return this.known;
      this.stored = true;
      return { ...this.initial, ...this.usable(stored) };
    } catch (error) {
      const removed = this.stored && (error as NodeJS.ErrnoException).code === "ENOENT";
      return removed ? this.initial : this.known;
    }
  }

  /** What of it has the form of the initial value; somebody may have edited the file. */
  private usable(stored: object): Partial<T> {
    const form = new Map<string, unknown>(Object.entries(this.initial));
    const fits = ([key, value]: [string, unknown]): boolean =>
      Array.isArray(form.get(key)) ? Array.isArray(value) : isPlain(value);
    return Object.fromEntries(Object.entries(stored).filter(fits)) as Partial<T>;
  }
}

function discard(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // It could not be made either.
  }
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
