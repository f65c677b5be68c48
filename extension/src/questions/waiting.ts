// The questions of others that wait for the person here. Whoever shows them (a notification, the view, a list) asks this
// one place what waits, and answers here.
import { EventEmitter, type CancellationToken, type Event } from "vscode";

export interface Asked {
  type: number;
  message: string;
  /** The titles of yes and no, in this order. */
  actions?: { title: string }[];
  /** The folder of a call that this editor itself has made; absent if somebody else asks. */
  own?: string;
  /** The parts of the question. A sidecar that is older than this extension leaves them out. */
  question?: { title: string; asker: string; detail: string; accept: string; decline: string; seconds: number };
}

/** A question as it is shown: sentences of sidecar's, in which what others chose is quoted. */
export interface Question {
  readonly id: string;
  readonly title: string;
  /** The asker's name for itself, quoted; empty if it gives none. */
  readonly asker: string;
  readonly detail: string;
  readonly yes: string;
  readonly no: string;
  /** How long it waits; undefined if the sidecar does not say. */
  readonly seconds: number | undefined;
}

/** The title of the chosen action; null means no. */
export type Chosen = { title: string } | null;

/** A click cannot have been meant for a question that has only just appeared or moved. */
const SETTLED_MS = 1000;

export class WaitingQuestions {
  private readonly open = new Map<string, { question: Question; settle: (chosen: Chosen) => void }>();
  private readonly changes = new EventEmitter<undefined>();
  private readonly hasties = new EventEmitter<Question>();
  private last = 0;
  private changedAt = 0;
  readonly onDidChange: Event<undefined> = this.changes.event;
  /** A yes that came too soon to be meant, and was not accepted. */
  readonly onHasty: Event<Question> = this.hasties.event;

  /** `now` in milliseconds. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Oldest first, so that a new question moves no other. */
  get all(): readonly Question[] {
    return [...this.open.values()].map(({ question }) => question);
  }

  get(id: string): Question | undefined {
    return this.open.get(id)?.question;
  }

  /** Settles with the answer, and with a no when the question is withdrawn. */
  ask(asked: Asked, withdrawn: CancellationToken): Promise<Chosen> {
    const question = questionOf(asked, String(++this.last));
    return new Promise((settle) => {
      if (withdrawn.isCancellationRequested) {
        settle(null);
        return;
      }
      const listener = withdrawn.onCancellationRequested(() => this.close(question.id, null));
      this.open.set(question.id, {
        question,
        settle: (chosen) => {
          listener.dispose();
          settle(chosen);
        },
      });
      this.changed();
    });
  }

  accept(id: string): void {
    const question = this.get(id);
    if (question === undefined) return;
    if (this.now() - this.changedAt < SETTLED_MS) this.hasties.fire(question);
    else this.close(id, { title: question.yes });
  }

  decline(id: string): void {
    const question = this.get(id);
    if (question !== undefined) this.close(id, { title: question.no });
  }

  /** Ends all questions: no call waits for answers any more. */
  withdrawAll(): void {
    for (const id of [...this.open.keys()]) this.close(id, null);
  }

  private close(id: string, chosen: Chosen): void {
    const one = this.open.get(id);
    if (one === undefined) return;
    this.open.delete(id);
    one.settle(chosen);
    this.changed();
  }

  private changed(): void {
    this.changedAt = this.now();
    this.changes.fire(undefined);
  }
}

export function questionOf({ message, actions = [], question }: Asked, id: string): Question {
  if (question !== undefined) {
    const { title, asker, detail, accept, decline, seconds } = question;
    return { id, title, asker, detail, yes: accept, no: decline, seconds };
  }
  const [title = "", ...rest] = message.split("\n");
  const [yes = "Yes", no = "No"] = actions.map((action) => action.title);
  return { id, title, asker: "", detail: rest.join(" "), yes, no, seconds: undefined };
}
