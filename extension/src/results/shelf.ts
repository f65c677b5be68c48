// The results that are kept in view, and this workspace's earlier searches. Does not use the editor's API.
import { type Asked, type Found, sameAsked } from "../search/find";
import type { Shared } from "../sharedFile";

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

/** What is kept between sessions, and shared by all windows on one folder. */
export interface Lasting {
  past: readonly Past[];
  saved: readonly Asked[];
}

export const MOST_PAST = 50;

export class Shelf {
  private kept: Kept | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly lasting: Shared<Lasting>,
    private readonly now: () => number = Date.now,
  ) {}

  get results(): Kept | undefined {
    return this.kept;
  }

  /** Latest first, each question once. */
  get history(): readonly Past[] {
    return this.lasting.value.past;
  }

  /** The saved questions, latest first. */
  get saved(): readonly Asked[] {
    return this.lasting.value.saved;
  }

  keep(kept: Kept | undefined): void {
    this.kept = kept;
    this.changed();
  }

  /** Records a search of which the person has used a result. */
  note(asked: Asked, results: number): void {
    const entry = { asked, results, at: this.now() };
    this.setPast((past) => [entry, ...without(past, asked)].slice(0, MOST_PAST));
  }

  forget(asked?: Asked): void {
    this.setPast((past) => (asked === undefined ? [] : without(past, asked)));
  }

  isSaved(asked: Asked): boolean {
    return this.saved.some((one) => sameAsked(one, asked));
  }

  /** Saves a question, or forgets it if it is saved: what the person saw here decides, whatever other windows did since. */
  toggleSaved(asked: Asked): void {
    const isSaved = this.isSaved(asked);
    this.change(({ saved, ...rest }) => {
      const others = saved.filter((one) => !sameAsked(one, asked));
      return { ...rest, saved: isSaved ? others : [asked, ...others] };
    });
  }

  /** To be called when another window has changed what lasts. */
  changed(): void {
    for (const listener of this.listeners) listener();
  }

  /** Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private setPast(work: (past: readonly Past[]) => readonly Past[]): void {
    this.change(({ past, ...rest }) => ({ ...rest, past: work(past) }));
  }

  private change(work: (lasting: Lasting) => Lasting): void {
    this.lasting.change(work);
    this.changed();
  }
}

function without(past: readonly Past[], asked: Asked): Past[] {
  return past.filter((entry) => !sameAsked(entry.asked, asked));
}
