// A command that a person has just given here is its own answer to whether they want it. It counts once, only for what
// loses nothing, and only for the question that this editor itself has caused.
import { type Asked, questionOf } from "../questions/waiting";

const INFORMATION = 3;

export class Consents {
  private readonly given: string[] = [];

  /** During the work, the question about this folder (a path) is answered with yes. */
  async during<T>(folder: string, work: () => Promise<T>): Promise<T> {
    this.given.push(folder);
    try {
      return await work();
    } finally {
      this.take(folder);
    }
  }

  /** Never decided by the words of the question, because they contain an agent's name for itself. */
  answerTo(asked: Asked): { title: string } | undefined {
    const { type, own } = asked;
    if (type !== INFORMATION || own === undefined || !this.given.includes(own)) return undefined;
    this.take(own);
    return { title: questionOf(asked, "own").yes };
  }

  private take(folder: string): void {
    const at = this.given.indexOf(folder);
    if (at >= 0) this.given.splice(at, 1);
  }
}
