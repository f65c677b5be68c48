import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Part {
  view?: string;
  id?: string;
  when?: string;
  contents?: string;
  description?: string;
}

const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as {
  contributes: { viewsWelcome: Part[]; walkthroughs: { steps: Part[] }[] };
};

test("on Windows, where programs share no process, view and walkthrough promise what is so, and elsewhere the rest", () => {
  const views = contributes.viewsWelcome.filter(({ view }) => view === "sidecar.activity");
  const steps = contributes.walkthroughs.flatMap((one) => one.steps).filter(({ id = "" }) => id.startsWith("agents"));
  for (const parts of [views, steps]) {
    expect(parts.map(({ when }) => when).toSorted()).toEqual(["!sidecar.alone", "sidecar.alone"]);
    const alone = parts.find(({ when }) => when === "sidecar.alone");
    expect(alone?.contents ?? alone?.description).toMatch(/On Windows .*a Sidecar of its own/);
  }
});
