// What was typed last into the palette, for each thing that is searched for.
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

  /** So that a later session knows it too. */
  keep(): void {
    this.save(this.typed);
  }
}
