// The last input of the palette, for each kind of search.
import type { Shared } from "../sharedFile";
import type { Subject } from "./find";

export type Typed = Partial<Record<Subject, string>>;

export interface LastingTyped {
  typed: Typed;
}

export class LastTyped {
  /** What was typed in this window, which comes before what was typed in others. */
  private own: Typed = {};
  private unstored: Typed = {};

  constructor(private readonly lasting: Shared<LastingTyped>) {}

  of(subject: Subject): string {
    return this.own[subject] ?? this.lasting.value.typed[subject] ?? "";
  }

  note(subject: Subject, typed: string): void {
    this.own = { ...this.own, [subject]: typed };
    if (typed !== this.lasting.value.typed[subject]) this.unstored = { ...this.unstored, [subject]: typed };
  }

  /** Stores it for later sessions. */
  keep(): void {
    const typed = this.unstored;
    if (Object.keys(typed).length === 0) return;
    this.unstored = {};
    this.lasting.change((lasting) => ({ ...lasting, typed: { ...lasting.typed, ...typed } }));
  }
}
