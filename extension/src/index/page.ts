// The index status as a page: what is in the index, what is not, and why. HTML and nothing else.
import { counted, grouped } from "../counts";
import { type Html, html } from "../html";
import type { FolderStatus, IndexStatus, Withheld } from "../protocol.gen";
import { visible } from "../shown";
import type { State } from "../sidecar";
import { ago, duration } from "../time";
import { bar, countTable } from "./meters";
import { ruleText } from "./rules";
import {
  type Condition,
  conditionOf,
  deviceText,
  modelName,
  originText,
  percentWithVectors,
  upgradeText,
  shown,
  sizeText,
} from "./state";

export interface Subject {
  folder: string;
  /** For commands: the folder's URI as text. */
  uri: string;
  state: State;
  problem: string | undefined;
  /** Whether the editor may start programs for the folder. */
  trusted: boolean;
  status: Partial<FolderStatus> | undefined;
  /** Somebody can cancel the indexing here. */
  stoppable: boolean;
  /** A new index would start from a snapshot, or starts from it now. */
  snapshot: boolean;
}

const WORDS: Readonly<Record<Condition, string>> = {
  off: "not running",
  starting: "starting",
  broken: "not running",
  missing: "not indexed",
  gone: "not found",
  indexing: "indexing",
  partial: "partial",
  unfinished: "partial",
  stale: "files changed",
  failed: "failed",
  wordsOnly: "words only",
  upgrading: "ready",
  ready: "ready",
};
const TONES: Readonly<Record<Condition, string>> = {
  off: "quiet",
  starting: "quiet",
  broken: "bad",
  missing: "quiet",
  gone: "warn",
  indexing: "busy",
  partial: "warn",
  unfinished: "warn",
  stale: "warn",
  failed: "bad",
  wordsOnly: "warn",
  upgrading: "good",
  ready: "good",
};
const LANGUAGES_SHOWN = 14;

/** `now` in milliseconds since the epoch. */
export function contentOf(subject: Subject, now: number): Html {
  const condition = conditionOf(subject.state, subject.status);
  const status = subject.status ?? {};
  // If an index cannot be read, nothing is known of it, and zeros would be wrong.
  const known = condition === "failed" ? (status.totalFiles ?? 0) > 0 : status.totalFiles !== undefined;
  return html`
    <header>
      <div>
        <h1>${subject.folder} <span class="badge ${TONES[condition]}">${WORDS[condition]}</span></h1>
        <p class="lead">${leadOf(subject, now)}</p>
      </div>
      <nav aria-label="Actions">${subject.trusted ? actions(condition, subject) : [TRUST]}</nav>
    </header>
    ${condition === "indexing" ? progressBar(status) : undefined}
    ${known ? html`${cards(status, now)} ${columns(status, subject.uri)}` : undefined} ${places(status, now)}
  `;
}

function leadOf({ state, status, problem }: Subject, now: number): Html {
  return html`${shown(state, status, problem, now).says}`;
}

function actions(condition: Condition, subject: Subject): Html[] {
  const { uri } = subject;
  if (condition === "missing") return actionsOfNew(subject);
  if (condition === "off" || condition === "broken") return [action("restart", "Restart", uri, "primary"), LOG];
  const config = action("openConfig", "Open Config", uri, "");
  if (condition === "gone") return [config];
  if (condition === "indexing") return [...actionsWhileIndexing(subject), config];
  const first =
    condition === "unfinished"
      ? action("createIndex", "Continue Indexing", uri, "primary")
      : action("reindexProject", "Reindex", uri, condition === "failed" ? "primary" : "");
  return [first, config, action("deleteIndex", "Delete Index", uri, "")];
}

function actionsOfNew({ uri, snapshot }: Subject): Html[] {
  const create = action("createIndex", snapshot ? "Use Snapshot" : "Create Index", uri, "primary");
  return [create, ...indexHere(uri, snapshot)];
}

function actionsWhileIndexing({ uri, stoppable, snapshot }: Subject): Html[] {
  return [...(stoppable ? [action("cancelIndexing", "Cancel", uri, "primary")] : []), ...indexHere(uri, snapshot)];
}

function indexHere(uri: string, snapshot: boolean): Html[] {
  return snapshot ? [action("indexHere", "Index Here Instead", uri, "")] : [];
}

const TRUST = html`<a class="button primary" href="command:workbench.trust.manage">Manage Workspace Trust</a>`;
const LOG = html`<a class="button" href="command:sidecar.showLog">Show Log</a>`;

function action(command: string, title: string, uri: string, look: string): Html {
  const given = encodeURIComponent(JSON.stringify([uri]));
  return html`<a class="button ${look}" data-key="${command}" href="command:sidecar.${command}?${given}">${title}</a>`;
}

function progressBar({ progress }: Partial<IndexStatus>): Html {
  const { says: step = "", percent = 0, secondsLeft } = progress ?? {};
  const left = secondsLeft === undefined ? "" : `, about ${duration(secondsLeft)} left`;
  const says = `${step === "" ? "" : `${visible(step)}, `}${percent} %${left}`;
  return html`<section class="progress">
    <div
      role="progressbar"
      aria-label="Indexing"
      aria-valuemin="0"
      aria-valuemax="100"
      aria-valuenow="${percent}"
      aria-valuetext="${says}"
    >
      ${bar(percent, "fill")}
    </div>
    <p>${says}</p>
  </section>`;
}

function cards(status: Partial<IndexStatus>, now: number): Html {
  const { totalFiles = 0, codeFiles = 0, docsFiles = 0, totalChunks = 0, embeddedChunks = 0 } = status;
  return html`<section class="cards" aria-label="Summary">
    ${card("Files", grouped(totalFiles), `${grouped(codeFiles)} code, ${grouped(docsFiles)} documentation`)}
    ${card("Chunks", grouped(totalChunks), "passages that can be found")}
    ${card("By meaning", `${percentWithVectors(status)} %`, counted(embeddedChunks, "chunk has a vector", "chunks have a vector"))}
    ${updatedCard(status, now)} ${card("On disk", sizeText(status.storageSize ?? "0B"), watching(status))}
    ${card("Model", modelName(status.model ?? "none"), deviceLine(status))}
  </section>`;
}

function updatedCard({ lastUpdated, pendingFiles = 0 }: Partial<IndexStatus>, now: number): Html {
  const updated = lastUpdated === undefined ? "never" : ago(Date.parse(lastUpdated), now);
  return card(
    "Updated",
    updated,
    pendingFiles === 0 ? "nothing is waiting" : counted(pendingFiles, "changed file waits", "changed files wait"),
  );
}

function watching({ watcherActive, indexingStrategy }: Partial<IndexStatus>): string {
  const when = {
    realtime: "changes are indexed at once",
    lazy: "changes wait for a search",
    git: "changes wait for git",
  };
  return watcherActive === false && indexingStrategy === "realtime"
    ? "changes are looked for at each search"
    : when[indexingStrategy ?? "realtime"];
}

function deviceLine({ device, deviceNote, modelUpgrade }: Partial<IndexStatus>): string {
  if (modelUpgrade !== undefined) return `then ${upgradeText(modelUpgrade)}`;
  const runs = device === undefined ? "" : `runs on: ${deviceText(device)}`;
  return deviceNote === undefined ? runs : `${runs} (${deviceNote})`;
}

function card(title: string, value: string, note: string): Html {
  return html`<div class="card">
    <h2>${title}</h2>
    <p class="value">${value}</p>
    <p class="note">${note}</p>
  </div>`;
}

function columns(status: Partial<IndexStatus>, uri: string): Html {
  return html`<div class="columns">
    <div>${languages(status.languages ?? {})} ${exclusions(status.excluded ?? {})}</div>
    <div>${withheld(status, uri)} ${errors(status, uri)}</div>
  </div>`;
}

function languages(counts: Record<string, number>): Html {
  const all = Object.entries(counts).sort(([, one], [, other]) => other - one);
  const shownOnes = all.slice(0, LANGUAGES_SHOWN);
  const rest = all.slice(LANGUAGES_SHOWN).reduce((sum, [, count]) => sum + count, 0);
  return section("Languages", countTable(rest > 0 ? [...shownOnes, ["others", rest]] : shownOnes, "language"));
}

function exclusions(counts: Record<string, number>): Html {
  const rows = Object.entries(counts).sort(([, one], [, other]) => other - one);
  const note = html`<p class="note">Files and folders by the first rule that kept them out.</p>`;
  const titled = rows.map(([rule, count]): [string, number] => [ruleText(rule).title, count]);
  return section(
    "Left out",
    rows.length === 0 ? nothing("Nothing is left out.") : html`${note}${countTable(titled, "rule")}`,
  );
}

function withheld({ withheldFiles = 0, withheld: listed = [] }: Partial<IndexStatus>, uri: string): Html {
  const title = withheldFiles === 0 ? "Withheld secrets" : `Withheld secrets (${grouped(withheldFiles)})`;
  if (listed.length === 0) return section(title, nothing("No file looks like a secret."));
  const more = withheldFiles - listed.length;
  return section(
    title,
    html`<p class="note">These files never enter the index, so no search and no agent gets them.</p>
      <ul class="paths">
        ${listed.map((file: Withheld) => pathItem(file.path, reasonOf(file), uri))}
      </ul>
      ${more > 0 ? html`<p class="note">and ${grouped(more)} more</p>` : undefined}`,
  );
}

function reasonOf({ rule, detail }: Withheld): string {
  const { title } = ruleText(rule);
  return detail === "" ? title : `${title}: ${detail}`;
}

function errors({ errors: listed = [] }: Partial<IndexStatus>, uri: string): Html {
  const title = listed.length === 0 ? "Errors" : `Errors (${grouped(listed.length)})`;
  if (listed.length === 0) return section(title, nothing("Every file could be read."));
  return section(
    title,
    html`<ul class="paths">
      ${listed.map(({ path, error }) => pathItem(path, error, uri))}
    </ul>`,
  );
}

function pathItem(path: string, reason: string, uri: string): Html {
  const given = encodeURIComponent(JSON.stringify([uri, path]));
  return html`<li>
    <a data-key="why:${path}" href="command:sidecar.explainPath?${given}">${path}</a>
    <span class="note">${reason}</span>
  </li>`;
}

function places({ indexPath, configPath, origin }: Partial<IndexStatus>, now: number): Html {
  if (indexPath === undefined) return html``;
  return html`<footer>
    <p>Index: <code>${indexPath}</code></p>
    ${origin === undefined ? undefined : html`<p>Started from: ${visible(originText(origin, now))}</p>`}
    ${configPath === undefined ? undefined : html`<p>Config: <code>${configPath}</code></p>`}
  </footer>`;
}

function section(title: string, body: Html): Html {
  return html`<section>
    <h2>${title}</h2>
    ${body}
  </section>`;
}

function nothing(text: string): Html {
  return html`<p class="nothing">${text}</p>`;
}
