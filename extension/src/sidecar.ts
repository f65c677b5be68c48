// The sidecar as the rest of the extension sees it: calls, states of indexes, its own state.
import type { CancellationToken, Disposable, Event, Uri, WorkspaceFolder } from "vscode";
import type { FolderStatus, SearchHit, SearchResult, SidecarNotifications, SidecarRequests } from "./protocol.gen";

export type Requests = SidecarRequests;
export type Notifications = SidecarNotifications;
export type { FolderStatus } from "./protocol.gen";

/** `stopped`: no folder is open, the folder is not trusted, or somebody stopped it. `failed`: see `problem`. */
export type State = "starting" | "running" | "stopped" | "failed";

/** A hit of a search over several folders names its folder's path. */
export type PlacedHit = SearchHit & { workspace?: string };
export type PlacedResult = Omit<SearchResult, "results"> & { results: PlacedHit[] };

/** Beside a tool's own parameters: which folder it is about (URI or path), and under which token it reports. */
export interface Place {
  workspace?: string;
  workDoneToken?: string | number;
}

export interface Sidecar {
  readonly state: State;
  /** With state `failed` or `stopped`: why, in a sentence for the person. */
  readonly problem: string | undefined;
  /** With state `starting`: what the set-up is doing, in a few words; undefined where nothing is set up. */
  readonly step: string | undefined;
  /** Also when `step` has changed. */
  readonly onDidChangeState: Event<State>;
  /** Every change of an index, at most five a second for each folder. */
  readonly onStatus: Event<FolderStatus>;
  /** The last state of each open folder, by URI as text. */
  readonly statuses: ReadonlyMap<string, FolderStatus>;
  /**
   * Calls a tool; waits for a sidecar that is starting. Rejects with `Failure` only; its code is `NOT_RUNNING`,
   * `NOT_TRUSTED`, `NOT_SET_UP` or `NO_FOLDER` where there is no sidecar and `CANCELLED` where the token was.
   */
  call<M extends keyof Requests>(
    method: M,
    params: Requests[M]["params"] & Place,
    token?: CancellationToken,
  ): Promise<Requests[M]["result"]>;
  /** Listens to a notification of this sidecar and of every later one. */
  on<N extends keyof Notifications>(method: N, listener: (sent: Notifications[N]) => void): Disposable;
  /** A call within `work` about this folder (a path) that asks whether to do what loses nothing is answered: yes. */
  agreed<T>(folder: string, work: () => Promise<T>): Promise<T>;
  /** The open folder that contains a file. */
  workspaceOf(uri: Uri): WorkspaceFolder | undefined;
  /** Requests during a restart are merged into one more restart. */
  restart(): Promise<void>;
  /** Ends this window's sidecar until somebody restarts it. `why`: a sentence for the person. */
  rest(why: string): Promise<void>;
  /** Like `restart`, but also ends the process that windows and agents share; the remaining ones start it again. */
  renew(): Promise<void>;
}
