// What the status bar item offers in its tooltip, by the state it shows.
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
 * Nothing can be started in a folder that is not trusted, so only trusting it helps there. `building`: somebody has begun
 * to index it in this window. `snapshot`: a new index would start from a snapshot, or starts from it now.
 */
export function offersFor(
  condition: Condition,
  trusted: boolean,
  building: boolean,
  snapshot = false,
): readonly Offer[] {
  if (!trusted) return [{ id: "workbench.trust.manage", title: "Manage Workspace Trust" }];
  return [...BY_CONDITION[condition], ...(building ? [CANCEL] : []), ...(snapshot ? [HERE] : [])];
}
