// What the status bar item offers in its tooltip, by the state it shows.
import type { FolderStatus } from "../protocol.gen";
import type { Condition } from "./state";

export interface Offer {
  /** A command. */
  id: string;
  title: string;
}

const STATUS: Offer = { id: "sidecar.showIndexStatus", title: "Show Index Status" };
const LOG: Offer = { id: "sidecar.showLog", title: "Show Log" };
const CANCEL: Offer = { id: "sidecar.cancelIndexing", title: "Cancel" };
const HERE: Offer = { id: "sidecar.indexHere", title: "Index Here Instead" };
const RESTART: readonly Offer[] = [{ id: "sidecar.restart", title: "Restart" }, LOG];
const INDEXED: readonly Offer[] = [STATUS, { id: "sidecar.reindexProject", title: "Reindex" }];

const BY_CONDITION: Readonly<Record<Condition, readonly Offer[]>> = {
  off: RESTART,
  broken: RESTART,
  starting: [LOG],
  missing: [{ id: "sidecar.createIndex", title: "Create Index" }],
  gone: [STATUS],
  indexing: [STATUS],
  partial: INDEXED,
  unfinished: [{ id: "sidecar.createIndex", title: "Continue Indexing" }, STATUS],
  stale: INDEXED,
  failed: [...INDEXED, LOG],
  wordsOnly: [STATUS, { id: "sidecar.doctor", title: "Doctor" }, LOG],
  upgrading: INDEXED,
  ready: INDEXED,
};

/**
 * Nothing can be started in a folder that is not trusted, so only trusting it helps there. `stoppable`: see `canCancel`.
 * `snapshot`: a new index would start from a snapshot, or starts from it now.
 */
export function offersFor(
  condition: Condition,
  trusted: boolean,
  stoppable: boolean,
  snapshot = false,
): readonly Offer[] {
  if (!trusted) return [{ id: "workbench.trust.manage", title: "Manage Workspace Trust" }];
  return [...BY_CONDITION[condition], ...(stoppable ? [CANCEL] : []), ...(snapshot ? [HERE] : [])];
}

/** Whether a person can cancel the indexing of a folder here. `begun`: in this window, which the state may not show yet. */
export function canCancel(status: Partial<FolderStatus> | undefined, begun: boolean): boolean {
  return begun || (status?.status === "indexing" && status.elsewhere !== true);
}
