// Runs one piece of work at a time. Requests that come meanwhile are merged into one more run.

export class Coalesced {
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly work: () => Promise<void>) {}

  /** Settles with a run that began after this call. */
  run(): Promise<void> {
    if (this.running === undefined) {
      this.running = this.work().finally(() => (this.running = undefined));
      return this.running;
    }
    this.next ??= this.running
      .catch(() => undefined)
      .then(() => {
        this.next = undefined;
        return this.run();
      });
    return this.next;
  }
}
