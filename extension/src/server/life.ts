// The life of the sidecar's process as a state: start, restart, its unforeseen end. What a connection is, is the
// caller's; nothing here knows the editor.
import { Coalesced } from "./coalesced";
import { Failure, asFailure } from "../failure";
import type { State } from "../sidecar";

/** A sidecar that answers. `ended` settles when it is gone, whoever ended it. */
export interface Connection {
  readonly ended: Promise<void>;
  request(method: string, params: object, token?: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

export interface Surroundings {
  /** Why there should be no sidecar now (`NO_FOLDER`, `NOT_TRUSTED`); undefined where there should. */
  reasonToRest(): Failure | undefined;
  /** Rejects with the code `NOT_SET_UP` where somebody does not want it yet, which is no failure. */
  connect(): Promise<Connection>;
  changed(state: State): void;
  /** It ended and nobody had asked it to. */
  crashed(): void;
}

export class Life {
  state: State = "stopped";
  private hindrance: Failure | undefined;
  private connection: Connection | undefined;
  private disposed = false;
  private resting: Failure | undefined;
  private waiting: (() => void)[] = [];
  private readonly restarts = new Coalesced(() => this.startAnew());

  constructor(private readonly surroundings: Surroundings) {}

  get problem(): string | undefined {
    return this.hindrance?.message;
  }

  restart(): Promise<void> {
    // At once, so that whoever calls now waits for the new one.
    if (!this.disposed && this.surroundings.reasonToRest() === undefined) this.become("starting");
    return this.restarts.run();
  }

  /** Ends it until somebody restarts it. `why`: a sentence for the person. */
  async rest(why: string): Promise<void> {
    this.resting = new Failure("NOT_SET_UP", why);
    await this.restarts.run();
  }

  async request(method: string, params: object, token?: unknown): Promise<unknown> {
    while (this.state === "starting") await new Promise<void>((go) => this.waiting.push(go));
    const connection = this.connection;
    if (connection === undefined) throw this.hindrance ?? notRunning("Sidecar is not running.");
    try {
      return await connection.request(method, params, token);
    } catch (error) {
      if (this.connection !== connection) throw notRunning("Sidecar ended before it answered.");
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
      this.become("failed", notRunning("Sidecar has ended unexpectedly."));
      this.surroundings.crashed();
    });
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
