// The life of the sidecar's process as a state: start, restart, its unforeseen end. What a connection is, is the
// caller's; nothing here knows the editor.
import { Coalesced } from "./coalesced";
import { Failure, asFailure } from "../failure";
import type { State } from "../sidecar";

/** The part of the editor's token that is used here. */
export interface Token {
  readonly isCancellationRequested: boolean;
}

/** The result of a call if the sidecar ended before it answered. */
const LOST = Symbol("lost");

/** A sidecar that answers. `ended` settles when it has ended, for whatever reason. */
export interface Connection {
  readonly ended: Promise<void>;
  request(method: string, params: object, token?: Token): Promise<unknown>;
  stop(): Promise<void>;
}

/** A sidecar that ends by itself is restarted, unless another one ended within this time before. */
const STEADY_MS = 60_000;

export interface Surroundings {
  /** Why there should be no sidecar now (`NO_FOLDER`, `NOT_TRUSTED`); undefined if there should be one. */
  reasonToRest(): Failure | undefined;
  /** Rejects with the code `NOT_SET_UP` if the person does not want the set-up yet, which is no failure. */
  connect(): Promise<Connection>;
  changed(state: State): void;
  /** It ended unexpectedly, for the second time so soon that it is not restarted. */
  crashed(): void;
  /** Whether a call changes nothing, so that it can be repeated however far it got. */
  changesNothing(method: string): boolean;
  /** The time in milliseconds, from any fixed moment. */
  now(): number;
}

export class Life {
  state: State = "stopped";
  private hindrance: Failure | undefined;
  private connection: Connection | undefined;
  private disposed = false;
  private lastCrash = -Infinity;
  private resting: Failure | undefined;
  private waiting: (() => void)[] = [];
  private readonly restarts = new Coalesced(() => this.startAnew());

  constructor(private readonly surroundings: Surroundings) {}

  get problem(): string | undefined {
    return this.hindrance?.message;
  }

  restart(): Promise<void> {
    // At once, so that calls from now on wait for the new one.
    if (!this.disposed && this.surroundings.reasonToRest() === undefined) this.become("starting");
    return this.restarts.run();
  }

  /** Ends it until somebody restarts it. `why`: a sentence for the person. */
  async rest(why: string): Promise<void> {
    this.resting = new Failure("NOT_SET_UP", why);
    await this.restarts.run();
  }

  /** A call that changes nothing is made again, once, by the next sidecar if the present one ends before it answers. */
  async request(method: string, params: object, token?: Token): Promise<unknown> {
    const mayRepeat = (): boolean =>
      this.surroundings.changesNothing(method) && token?.isCancellationRequested !== true;
    const answer = await this.ask(method, params, token);
    if (answer !== LOST) return answer;
    const again = mayRepeat() ? await this.ask(method, params, token) : LOST;
    if (again === LOST) throw notRunning("Sidecar ended before it answered.");
    return again;
  }

  private async ask(method: string, params: object, token: Token | undefined): Promise<unknown> {
    while (this.state === "starting") await new Promise<void>((go) => this.waiting.push(go));
    const connection = this.connection;
    if (connection === undefined) throw this.hindrance ?? notRunning("Sidecar is not running.");
    try {
      return await connection.request(method, params, token);
    } catch (error) {
      if (this.connection !== connection) return LOST;
      throw asFailure(error);
    }
  }

  async dispose(): Promise<void> {
    this.disposed = true;
    await this.restarts.run();
  }

  private async startAnew(): Promise<void> {
    const former = this.connection;
    this.connection = undefined;
    await former?.stop().catch(() => undefined);
    const rest = this.resting;
    this.resting = undefined;
    const reason = this.disposed ? notRunning("The extension is off.") : (rest ?? this.surroundings.reasonToRest());
    if (reason !== undefined) {
      this.become("stopped", reason);
      return;
    }
    this.become("starting");
    try {
      this.attach(await this.surroundings.connect());
      this.become("running");
    } catch (error) {
      const failure = asFailure(error);
      if (failure.code === "NOT_SET_UP") this.become("stopped", failure);
      else this.become("failed", notRunning(failure.message));
    }
  }

  private attach(connection: Connection): void {
    this.connection = connection;
    void connection.ended.then(() => {
      if (this.connection !== connection) return;
      this.connection = undefined;
      this.ended();
    });
  }

  private ended(): void {
    const before = this.lastCrash;
    this.lastCrash = this.surroundings.now();
    if (this.lastCrash - before >= STEADY_MS) {
      void this.restart();
      return;
    }
    this.become("failed", notRunning("Sidecar has ended unexpectedly, again within a minute."));
    this.surroundings.crashed();
  }

  private become(state: State, hindrance?: Failure): void {
    const same = this.state === state && this.problem === hindrance?.message;
    this.state = state;
    this.hindrance = hindrance;
    if (!same) this.surroundings.changed(state);
    if (state !== "starting") for (const go of this.waiting.splice(0)) go();
  }
}

function notRunning(message: string): Failure {
  return new Failure("NOT_RUNNING", message);
}
