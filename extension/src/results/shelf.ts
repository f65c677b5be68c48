// The results that are kept in view, and this workspace's earlier searches. Does not use the editor's API.
import { type Asked, type Found, sameAsked } from "../search/find";

export interface Kept {
  asked: Asked;
  found: Found;
}

export interface Past {
  asked: Asked;
  /** The number of hits; undefined: the search failed or was not run yet. */
  results: number;
  /** Milliseconds since the epoch. */
  at: number;
}

/** What is kept between sessions. */
export interface Lasting {
  past: readonly Past[];
  saved: readonly Asked[];
}

export const MOST_PAST = 50;

export class Shelf {
  private kept: Kept | undefined;
  private readonly listeners = new Set<() => void>();

  /** `save` gets all lasting data after every change of it. */
  constructor(
    private lasting: Lasting,
    private readonly save: (lasting: Lasting) => void,
    private readonly now: () => number = Date.now,
  ) {}

  get results(): Kept | undefined {
    return this.kept;
  }

  /** Latest first, each question once. */
  get history(): readonly Past[] {
    return this.lasting.past;
  }

  /** The saved questions, latest first. */
  get saved(): readonly Asked[] {
    return this.lasting.saved;
  }

  keep(kept: Kept | undefined): void {
    this.kept = kept;
    this.changed();
  }

  /** Records a search of which the person has used a result. */
  note(asked: Asked, results: number): void {
    const others = this.history.filter((entry) => !sameAsked(entry.asked, asked));
    this.setPast([{ asked, results, at: this.now() }, ...others].slice(0, MOST_PAST));
  }

  forget(asked?: Asked): void {
    this.setPast(asked === undefined ? [] : this.history.filter((entry) => !sameAsked(entry.asked, asked)));
  }

  isSaved(asked: Asked): boolean {
    return this.saved.some((one) => sameAsked(one, asked));
  }

  /** Saves a question, or forgets it if it is saved. */
  toggleSaved(asked: Asked): void {
    const others = this.saved.filter((one) => !sameAsked(one, asked));
    this.setLasting({ ...this.lasting, saved: others.length < this.saved.length ? others : [asked, ...others] });
  }

  /** Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private setPast(past: readonly Past[]): void {
    this.setLasting({ ...this.lasting, past });
  }

  private setLasting(lasting: Lasting): void {
    this.lasting = lasting;
    this.save(lasting);
    this.changed();
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}
