// The person's agreement to the set-up, and where it is asked for: a start that nobody asked for says so in a message,
// which may hide in the bell; who has asked for the start is asked in a dialog. Does not use the editor's API.

export type Place = "message" | "dialog";

export class Agreement {
  private given = false;
  private isWanted = false;
  private readonly open = new Set<Place>();

  constructor(private readonly again: () => void) {}

  /** The person has given the command to start. */
  wanted(): void {
    this.isWanted = true;
  }

  /** Where the start that begins now has to ask. */
  begin(): Place {
    const place = this.isWanted ? "dialog" : "message";
    this.isWanted = false;
    return place;
  }

  /** The person has agreed, by a command that says what it does. */
  give(): void {
    this.given = true;
  }

  /** Returns whether the person has agreed. An agreement counts for one start. */
  take(): boolean {
    const { given } = this;
    this.given = false;
    return given;
  }

  /** `put` resolves with whether the person agrees; then begins anew. */
  async ask(place: Place, put: (place: Place) => PromiseLike<boolean>): Promise<void> {
    if (this.open.has(place)) return;
    this.open.add(place);
    const agrees = await put(place);
    this.open.delete(place);
    if (!agrees) return;
    this.give();
    this.again();
  }
}
