import { expect, test } from "vitest";
import { whileStarting } from "../../../src/search/waiting";
import type { State } from "../../../src/sidecar";

class Starting {
  state: State = "starting";
  step: string | undefined;
  private listeners: (() => void)[] = [];
  onDidChangeState(listener: () => void): { dispose(): void } {
    this.listeners.push(listener);
    return { dispose: () => void (this.listeners = this.listeners.filter((one) => one !== listener)) };
  }
  becomes(state: State, step?: string): void {
    this.state = state;
    this.step = step;
    for (const listener of this.listeners) listener();
  }
  get heardBy(): number {
    return this.listeners.length;
  }
}

test("while the sidecar starts a question says so, with each step of the set-up, until it is answered", async () => {
  const [sidecar, said] = [new Starting(), [] as string[]];
  let answer: (found: string) => void = () => undefined;
  const found = whileStarting(
    sidecar,
    new AbortController().signal,
    ({ title, detail }) => said.push(`${title}: ${detail}`),
    () => new Promise<string>((given) => (answer = given)),
  );
  sidecar.becomes("starting", "Fetching numpy…");
  sidecar.becomes("running");
  answer("found");
  expect(await found).toBe("found");
  expect(said).toEqual([
    "Sidecar is starting: Your question is answered as soon as it runs.",
    "Sidecar is being set up: Fetching numpy… Your question is answered as soon as it runs.",
  ]);
  expect(sidecar.heardBy).toBe(0);
});

test("a question that has been superseded says nothing, and neither does one that is asked of a running sidecar", async () => {
  const [sidecar, said, stop] = [new Starting(), [] as string[], new AbortController()];
  stop.abort();
  const tell = ({ title }: { title: string }) => void said.push(title);
  await whileStarting(sidecar, stop.signal, tell, () => Promise.resolve());
  sidecar.becomes("running");
  await whileStarting(sidecar, new AbortController().signal, tell, () => Promise.resolve());
  expect(said).toEqual([]);
});
