// What `sidecar/activity` tells, fetched again when it has changed; never twice at a time.

export class Feed<T> {
  private fetching = false;
  private again = false;

  constructor(
    private readonly fetch: () => Promise<T>,
    private readonly show: (fetched: T) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** What changes while an answer is on its way is fetched once more after it. */
  async changed(): Promise<void> {
    this.again = true;
    if (this.fetching) return;
    this.fetching = true;
    while (this.again) {
      this.again = false;
      try {
        this.show(await this.fetch());
      } catch (error) {
        this.failed(error);
      }
    }
    this.fetching = false;
  }
}
