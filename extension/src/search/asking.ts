// Asking while somebody types: waits for a pause, cancels what is superseded, and drops answers that come too late.

export interface Clock {
  /** Runs once after so many milliseconds, unless the returned function is called before. */
  after(ms: number, run: () => void): () => void;
}

export const realClock: Clock = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

export type Outcome<Q, A> =
  | { state: "asking"; question: Q }
  | { state: "answered"; question: Q; answer: A }
  | { state: "failed"; question: Q; error: unknown };

export class Asking<Q, A> {
  private running = new AbortController();
  private cancelPause: () => void = () => undefined;
  private paused: (() => void) | undefined;
  private awaitsAnswer = false;
  private wanted: (() => void) | undefined;

  constructor(
    private readonly ask: (question: Q, signal: AbortSignal) => Promise<A>,
    private readonly show: (outcome: Outcome<Q, A>) => void,
    private readonly pauseMs: number,
    private readonly clock: Clock = realClock,
  ) {}

  /** Asks after a pause without another request. */
  soon(question: Q): void {
    this.begin(question);
    this.paused = () => {
      this.stopPause();
      void this.run(question);
    };
    this.cancelPause = this.clock.after(this.pauseMs, this.paused);
  }

  /** What waits for a pause is asked at once. */
  hurry(): void {
    this.paused?.();
  }

  now(question: Q): void {
    this.begin(question);
    void this.run(question);
  }

  /**
   * Does this once the answer that is awaited has been shown, unless another question comes before; a question that waits
   * for a pause is asked at once. Returns false if no answer is awaited.
   */
  afterAnswer(work: () => void): boolean {
    if (!this.awaitsAnswer) return false;
    this.wanted = work;
    this.hurry();
    return true;
  }

  /** Answers to earlier requests are not shown any more. */
  stop(): void {
    this.stopPause();
    this.running.abort();
    this.running = new AbortController();
    this.awaitsAnswer = false;
    this.wanted = undefined;
  }

  private begin(question: Q): void {
    this.stop();
    this.awaitsAnswer = true;
    this.show({ state: "asking", question });
  }

  private stopPause(): void {
    this.cancelPause();
    this.paused = undefined;
  }

  private async run(question: Q): Promise<void> {
    const { signal } = this.running;
    let outcome: Outcome<Q, A>;
    try {
      outcome = { state: "answered", question, answer: await this.ask(question, signal) };
    } catch (error) {
      outcome = { state: "failed", question, error };
    }
    if (signal.aborted) return;
    const { wanted } = this;
    this.awaitsAnswer = false;
    this.wanted = undefined;
    this.show(outcome);
    if (outcome.state === "answered") wanted?.();
  }
}
