// What the status bar item offers in its tooltip, by the state it shows.
import type { Condition } from "./state";

export interface Offer {
  /** A command. */
  id: string;
  title: string;
}

const STATUS: Offer = { id: "sidecar.showIndexStatus", title: "Show Index Status" };
const LOG: Offer = { id: "sidecar.showLog", title: "Show Log" };
const RESTART: readonly Offer[] = [{ id: "sidecar.restart", title: "Restart" }, LOG];
const INDEXED: readonly Offer[] = [STATUS, { id: "sidecar.reindexProject", title: "Reindex" }];

const BY_CONDITION: Readonly<Record<Condition, readonly Offer[]>> = {
  off: RESTART,
  broken: RESTART,
  starting: [LOG],
  missing: [{ id: "sidecar.createIndex", title: "Create Index" }],
  indexing: [STATUS],
  partial: INDEXED,
  stale: INDEXED,
  failed: [...INDEXED, LOG],
  upgrading: INDEXED,
  ready: INDEXED,
};

/** Nothing can be started in a folder that is not trusted, so only trusting it helps there. */
export function offersFor(condition: Condition, trusted: boolean): readonly Offer[] {
  return trusted ? BY_CONDITION[condition] : [{ id: "workbench.trust.manage", title: "Manage Workspace Trust" }];
}
