// Texts about the team snapshot from which a new index would start. Times in milliseconds since the epoch.
import { counted, grouped } from "../counts";
import type { IndexStatus, OfferedSnapshot } from "../protocol.gen";
import { Sentence, fromSidecar, said } from "../shown";
import { ago } from "../time";

/** No answer came in time, so it is not known whether there is a source. */
export const UNKNOWN: OfferedSnapshot = { source: "" };

export function hasOne(offer: OfferedSnapshot): boolean {
  return offer.commit !== undefined;
}

/** What the first opening asks about a folder of this name. */
export function offerText(name: string, offer: OfferedSnapshot, now: number): Sentence {
  if (hasOne(offer)) return said`Index ${name} from a snapshot of your team's? ${factsText(offer, now)}`;
  const { reason } = offer;
  if (reason !== undefined)
    return said`Index ${name} to search it by meaning? It stays on this machine. ${whyNone(reason)}`;
  if (offer === UNKNOWN) return said`Index ${name} to search it by meaning? It stays on this machine.`;
  return said`Index ${name} to search it by meaning? It stays on this machine, and no network is used.`;
}

/** Why an offer to index a folder of this name holds no more; undefined if it still does. `isOwn`: begun in this window. */
export function whyVoid(
  name: string,
  { status, progress, totalFiles = 0 }: Partial<IndexStatus>,
  isOwn = false,
): Sentence | undefined {
  if (isOwn || status === "indexing") {
    const elsewhere = isOwn ? "" : ": that was begun in another window or outside the editor";
    return said`${name} is being indexed already${new Sentence(`${percentText(progress)}${elsewhere}`)}.`;
  }
  return status === "ready"
    ? said`${name} is indexed already: ${new Sentence(counted(totalFiles, "file"))}.`
    : undefined;
}

function percentText(progress: IndexStatus["progress"]): string {
  return progress === undefined || progress.total === 0 ? "" : `, ${progress.percent} %`;
}

/** From which snapshot a new index would start, or why from none; undefined if no source is set. */
export function startText(offer: OfferedSnapshot, now: number): Sentence | undefined {
  if (hasOne(offer)) return said`A new index starts from a snapshot of your team's. ${factsText(offer, now)}`;
  return offer.reason === undefined ? undefined : whyNone(offer.reason);
}

function whyNone(reason: string): Sentence {
  return said`No snapshot of your team's can be taken: ${fromSidecar(reason)}`;
}

/** `"main" was indexed 2 h ago, 3 commits before yours: 52 MB instead of reading 4 312 files here.` */
function factsText({ commit = "", branch, ahead = 0, made = "", bytes = 0, files = 0 }: OfferedSnapshot, now: number) {
  const what = branch === undefined ? said`Commit ${commit.slice(0, 10)}` : said`${branch}`;
  const behind = ahead === 0 ? "" : `, ${counted(ahead, "commit")} before yours`;
  const instead = `${megabytes(bytes)} instead of reading ${counted(files, "file")} here`;
  return said`${what} was indexed${new Sentence(`${agoText(made, now)}${behind}: ${instead}`)}.`;
}

/** With a space before it; empty if the time, which comes from another machine, is not valid. */
export function agoText(made: string, now: number): string {
  const then = Date.parse(made);
  return Number.isNaN(then) ? "" : ` ${ago(then, now)}`;
}

/** `52 MB`, `0.4 MB` */
function megabytes(bytes: number): string {
  const amount = bytes / 1e6;
  return `${amount < 9.95 ? amount.toFixed(1) : grouped(Math.round(amount))} MB`;
}
