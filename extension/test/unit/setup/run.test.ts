import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

test("a program that is stopped has ended before that is told: it writes nothing afterwards", async () => {
  const room = mkdtempSync(join(tmpdir(), "run-"));
  const last = join(room, "last");
  const stop = new AbortController();
  const program = `
    process.on("SIGTERM", () => { require("fs").writeFileSync(process.argv[1], ""); process.exit(); });
    setInterval(() => {}, 1000);
    console.log("ready");
  `;
  await run(process.execPath, ["-e", program, last], { signal: stop.signal, onLine: () => stop.abort() });
  expect(existsSync(last)).toBe(true);
  rmSync(room, { recursive: true });
});
