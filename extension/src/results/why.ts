// Why a hit has its rank: the shares of its score and the reason given for each.
import type { PlacedHit } from "../sidecar";
import { scoreOf } from "../search/row";

export interface Share {
  name: string;
  /** A codicon. */
  icon: string;
  value: number;
  /** Of the whole score, in percent. */
  percent: number;
}

const FAMILIES: readonly { id: string; name: string; icon: string }[] = [
  { id: "word", name: "Words", icon: "whole-word" },
  { id: "meaning", name: "Meaning", icon: "sparkle" },
  { id: "prior", name: "Rank of the file", icon: "graph" },
];

/** Empty for a hit that came without them, such as one found by its likeness. */
export function sharesOf({ shares, score }: Pick<PlacedHit, "shares" | "score">): Share[] {
  if (shares === undefined || Object.keys(shares).length === 0) return [];
  return FAMILIES.map(({ id, name, icon }) => {
    const value = shares[id] ?? 0;
    return { name, icon, value, percent: score > 0 ? Math.round((100 * value) / score) : 0 };
  });
}

export function whyInOneLine(hit: Pick<PlacedHit, "shares" | "score">): string {
  const shares = sharesOf(hit).map(({ name, value }) => `${name.toLowerCase()} ${value.toFixed(2)}`);
  return shares.length === 0
    ? `${scoreOf(hit)}: how close it is in meaning`
    : `${scoreOf(hit)} = ${shares.join(" + ")}`;
}

/** The sidecar's reasons, with the first letter of a sentence. */
export function reasonsOf({ why }: Pick<PlacedHit, "why">): string[] {
  return (why ?? []).map((reason) => reason.charAt(0).toUpperCase() + reason.slice(1));
}
