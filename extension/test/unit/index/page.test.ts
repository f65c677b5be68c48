import { expect, test } from "vitest";
import { html } from "../../../src/html";
import { documentOf } from "../../../src/index/frame";
import { contentOf, type Subject } from "../../../src/index/page";

const NOW = Date.parse("2026-01-02T12:00:00Z");
const EVIL = `<img src=x onerror="alert('1')">`;
const subject: Subject = {
  folder: "api",
  uri: "file:///home/x/api",
  state: "running",
  problem: undefined,
  stoppable: false,
  snapshot: false,
  trusted: true,
  status: {
    status: "ready",
    totalFiles: 12,
    totalChunks: 300,
    embeddedChunks: 300,
    coverage: 1,
    languages: { python: 9, markdown: 3 },
    excluded: { "deny-list": 40, gitignore: 2, "some-new-rule": 1 },
    withheldFiles: 2,
    withheld: [{ path: ".env", rule: "secret-by-name", detail: ".env*" }],
    errors: [{ path: "bad.py", error: "It is not UTF-8." }],
  },
};

test("a language with a file among thousands has more than 0 % of them, and no other one has all", () => {
  const page = contentOf({ ...subject, status: { ...subject.status, languages: { python: 2036, text: 1 } } }, NOW).text;
  expect(page).toMatch(/2,036<\/td>\s*<td class="number percent">&gt; 99 %/);
  expect(page).toMatch(/1<\/td>\s*<td class="number percent">&lt; 1 %/);
});

test("the page tells languages, coverage, withheld secrets, exclusions by rule and errors", () => {
  const page = contentOf(subject, NOW).text;
  for (const part of ["python", "75 %", "100 %", ".env", "Named like a secret: .env*", "and 1 more"])
    expect(page).toContain(part);
  for (const part of ["Dependencies, build output and the like", "Ignored by git", "some-new-rule", "It is not UTF-8."])
    expect(page).toContain(part);
});

test("while a second model takes over, the page says how far it is", () => {
  const modelUpgrade = { model: "slow@0123456789ab", done: 3, total: 300, percent: 1 };
  const page = contentOf({ ...subject, status: { ...subject.status, model: "quick", modelUpgrade } }, NOW).text;
  expect(page).toContain("then slow: 1 % of 300 chunks");
});

test("what is missing has an offer, not an empty table", () => {
  const page = contentOf({ ...subject, status: { status: "not_found" } }, NOW).text;
  expect(page).toContain("command:sidecar.createIndex?");
  expect(page).not.toContain("<table");
  const damaged = contentOf({ ...subject, status: { status: "failed", totalFiles: 0, warning: "No database." } }, NOW);
  expect(damaged.text).toContain("No database.");
  expect(damaged.text).not.toContain("Every file could be read");
  const broken = contentOf({ ...subject, state: "failed", problem: "No Python." }, NOW).text;
  expect(broken).toContain("command:sidecar.restart?");
  expect(broken).toContain("No Python.");
});

test("nothing that comes from files can become markup", () => {
  const status = {
    ...subject.status,
    languages: { [EVIL]: 1 },
    withheld: [{ path: EVIL, rule: EVIL, detail: EVIL }],
    errors: [{ path: EVIL, error: EVIL }],
    warning: EVIL,
    model: EVIL,
  };
  const page = contentOf({ ...subject, folder: EVIL, status }, NOW).text;
  expect(page).not.toContain("<img");
  expect(page).not.toContain(`onerror="`);
});

test("a page allows one script and one style, and nothing from anywhere", () => {
  const page = documentOf("T", "n0nce", "<p>x</p>");
  expect(page).toContain(
    `default-src 'none'; style-src 'nonce-n0nce'; script-src 'nonce-n0nce'`.replaceAll("'", "&#39;"),
  );
  expect(page.match(/<script/g)).toHaveLength(1);
  expect(page).not.toMatch(/style="/);
});

test("values of templates are escaped unless they are templates themselves", () => {
  expect(html`<p>${"<b>&'\"</b>"}${html`<i>${1}</i>`}${undefined}${[html`a`, html`b`]}</p>`.text).toBe(
    "<p>&lt;b&gt;&amp;&#39;&quot;&lt;/b&gt;<i>1</i>ab</p>",
  );
});

test("in a folder that is not trusted only trusting it is offered", () => {
  const page = contentOf({ ...subject, state: "stopped", trusted: false, status: undefined }, NOW).text;
  expect(page).toContain("command:workbench.trust.manage");
  expect(page).not.toContain("command:sidecar.");
});

test("progress is shown in the unit that the sidecar names, and a download can be left for indexing here", () => {
  const says = "Downloading the snapshot: 1.2 of 17.4 MB";
  const status = { status: "indexing", progress: { done: 1_200_000, total: 17_400_000, says, percent: 6 } } as const;
  const page = contentOf({ ...subject, status, stoppable: true, snapshot: true }, NOW).text;
  expect(page).toContain(`${says}, 6 %`);
  expect(page).not.toContain("files");
  expect(page).toContain("command:sidecar.indexHere?");
});
