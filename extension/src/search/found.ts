// The answer to a question, of whatever kind.
import type { PlacedHit } from "../sidecar";

export interface Found {
  hits: PlacedHit[];
  /** The total number of hits, if there are more. */
  available?: number;
  /** Why the answer is partial or stale. */
  notice?: string;
  /** Why there are no hits. */
  reason?: string;
  tookMs?: number;
}

/** What is known of an answer beside its hits. */
export type Facts = { [Name in keyof Omit<Found, "hits">]?: Found[Name] | undefined };

/** Leaves out what is not known. */
export function foundOf(hits: PlacedHit[], { available, notice, reason, tookMs }: Facts): Found {
  const known = Object.entries({ available, notice, reason, tookMs }).filter(([, value]) => value !== undefined);
  return { hits, ...(Object.fromEntries(known) as Omit<Found, "hits">) };
}
