// A question of several lines in the palette's input, which has one line only. Does not use the editor's API.
import { oneLine } from "../shown";

const LONGEST = 20_000;

/** A text of a file, a chat or another program as a question: with its lines, because the sidecar reads them. */
export function asQuestion(text: string): string {
  return text.replace(/\r\n?/g, "\n").trim().slice(0, LONGEST);
}

/** A question that was not typed into the input but put there. */
export class Lines {
  /** The text as the input shows it. */
  readonly shown: string;

  constructor(private readonly text: string) {
    this.shown = text.includes("\n") ? oneLine(text) : text;
  }

  /** What the input asks: the text in it has its lines, whatever somebody has typed before and after it. */
  asked(input: string): string {
    return this.shown === "" ? input : input.replace(this.shown, () => this.text);
  }
}
