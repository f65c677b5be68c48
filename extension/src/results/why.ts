// Why a hit was found, as the sidecar says it: reasons whose shares sum to 100 %, and what counts against it.
import type { PlacedHit } from "../sidecar";
import { scoreOf } from "../search/row";

export interface Reason {
  says: string;
  /** Such as `46 %`; undefined: it counts against the hit. */
  share: string | undefined;
}

const SHARE = /^(.*) \((\d+ %)\)$/;
const AGAINST = / \(counts against it\)$/;

/** Empty for a hit without reasons, such as similar code. */
export function reasonsOf({ why }: Pick<PlacedHit, "why">): Reason[] {
  return (why ?? []).map((reason) => {
    const [, says = reason.replace(AGAINST, ""), share] = SHARE.exec(reason) ?? [];
    return { says: says.charAt(0).toUpperCase() + says.slice(1), share };
  });
}

export function whyInOneLine(hit: Pick<PlacedHit, "why" | "shares" | "score">): string {
  const shares = Object.entries(hit.shares ?? {}).map(([reason, percent]) => `${reason} ${percent} %`);
  return `${scoreOf(hit)}: ${shares.length === 0 ? "how close it is in meaning" : shares.join(", ")}`;
}
