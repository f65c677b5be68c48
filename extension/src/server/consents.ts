// A command that a person has just given here is its own answer to whether they want it. It counts once, only for what
// loses nothing, and only for the question that this editor itself has caused.
import type { Asked } from "./questions";

const INFORMATION = 3;

export class Consents {
  private readonly given: string[] = [];

  /** `asker`: what this editor calls itself to the sidecar. */
  constructor(private readonly asker: string) {}

  /** While the work lasts, the question about this folder (a path) is answered. */
  async during<T>(folder: string, work: () => Promise<T>): Promise<T> {
    this.given.push(folder);
    try {
      return await work();
    } finally {
      this.take(folder);
    }
  }

  answerTo({ type, message, actions = [] }: Asked): { title: string } | undefined {
    const first = message.split("\n", 1)[0] ?? "";
    const folder = this.given.find((one) => first.startsWith(`${this.asker} wants to `) && first.endsWith(` ${one}.`));
    const [yes] = actions;
    if (type !== INFORMATION || folder === undefined || yes === undefined) return undefined;
    this.take(folder);
    return { title: yes.title };
  }

  private take(folder: string): void {
    const at = this.given.indexOf(folder);
    if (at >= 0) this.given.splice(at, 1);
  }
}
