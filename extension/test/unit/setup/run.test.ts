import { expect, test } from "vitest";
import { run } from "../../../src/setup/run";

test("a program's lines are heard while it runs, both streams, and its status is told", async () => {
  const lines: string[] = [];
  const program = "process.stdout.write('a\\nb\\r\\n'); process.stderr.write('c\\n'); process.exitCode = 3";
  const { status, output } = await run(process.execPath, ["-e", program], { onLine: (line) => lines.push(line) });
  expect(status).toBe(3);
  expect(lines.toSorted()).toEqual(["a", "b", "c"]);
  expect(output).toContain("a\nb");
});

test("a program that is not there, and one that is stopped, do not throw", async () => {
  expect((await run("/not/there", [])).status).toBeUndefined();
  const stop = new AbortController();
  const running = run(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)"], {
    signal: stop.signal,
    onLine: () => stop.abort(),
  });
  expect((await running).status).toBeUndefined();
});
