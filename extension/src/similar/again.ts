// Repeats requests for things that may come later without an event: soon at first, then less often, then no more.

const WAITS_MS = [500, 1000, 2000, 4000, 8000, 16_000, 32_000];

/** Runs something after a time, unless the returned function is called before. */
export type Later = (run: () => void, milliseconds: number) => () => void;

export class Again {
  private readonly tries = new Map<string, number>();
  private readonly waiting = new Map<string, () => void>();

  constructor(
    private readonly ask: () => void,
    private readonly later: Later,
  ) {}

  /** Notes that this one has nothing yet. */
  missing(name: string): void {
    const tries = this.tries.get(name) ?? 0;
    const wait = WAITS_MS[tries];
    if (wait === undefined || this.waiting.has(name)) return;
    this.tries.set(name, tries + 1);
    const stop = this.later(() => {
      this.waiting.delete(name);
      this.ask();
    }, wait);
    this.waiting.set(name, stop);
  }

  /** Stops requests for this one, which has come or is not needed any more; without a name, for all. */
  forget(name?: string): void {
    for (const one of name === undefined ? [...this.tries.keys()] : [name]) {
      this.waiting.get(one)?.();
      this.waiting.delete(one);
      this.tries.delete(one);
    }
  }
}
