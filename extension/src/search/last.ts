// The last input of the palette, for each kind of search.
import type { Subject } from "./find";

export type Typed = Partial<Record<Subject, string>>;

export class LastTyped {
  constructor(
    private typed: Typed,
    private readonly save: (typed: Typed) => void,
  ) {}

  of(subject: Subject): string {
    return this.typed[subject] ?? "";
  }

  note(subject: Subject, typed: string): void {
    this.typed = { ...this.typed, [subject]: typed };
  }

  /** Stores it for later sessions. */
  keep(): void {
    this.save(this.typed);
  }
}
