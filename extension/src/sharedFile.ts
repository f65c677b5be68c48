// A small JSON file that several windows have open at once. The editor's own storage is no place for it: each window
// keeps all of that in memory and writes it as a whole, so the last window would take back what the others have stored.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** A value that others may change too. */
export interface Shared<T> {
  /** As it was when it was last read or changed here. */
  readonly value: T;
  /** Applies a change to what is there by now. */
  change(work: (present: T) => T): void;
}

export class SharedFile<T extends object> implements Shared<T> {
  private known: T;

  /**
   * `initial` counts until there is a file, and for what is missing in it. `troubled` gets the error if it cannot be
   * written; the change then holds in this window only.
   */
  constructor(
    private readonly file: string,
    private readonly initial: T,
    private readonly troubled: (error: unknown) => void,
  ) {
    this.known = this.read() ?? initial;
  }

  get value(): T {
    return this.known;
  }

  change(work: (present: T) => T): void {
    this.known = work(this.read() ?? this.known);
    try {
      mkdirSync(dirname(this.file), { recursive: true });
      // Another window must never read a file that is half written.
      const made = `${this.file}.${process.pid}`;
      writeFileSync(made, JSON.stringify(this.known), { mode: 0o600 });
      renameSync(made, this.file);
    } catch (error) {
      this.troubled(error);
    }
  }

  /** Reads what other windows have stored. Returns whether it is something new. */
  reload(): boolean {
    const before = JSON.stringify(this.known);
    this.known = this.read() ?? this.known;
    return JSON.stringify(this.known) !== before;
  }

  /** Undefined if there is no file, or none that can be used. */
  private read(): T | undefined {
    try {
      const stored: unknown = JSON.parse(readFileSync(this.file, "utf8"));
      return isPlain(stored) ? { ...this.initial, ...this.usable(stored) } : undefined;
    } catch {
      return undefined;
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

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
