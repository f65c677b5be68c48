// The answer to `sidecar/activity`, fetched again after each change, one request at a time.

export class Feed<T> {
  private fetching = false;
  private again = false;

  constructor(
    private readonly fetch: () => Promise<T>,
    private readonly show: (fetched: T) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** If something changes while an answer is on its way, it is fetched once more afterwards. */
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
