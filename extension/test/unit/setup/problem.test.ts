import { expect, test } from "vitest";
import { pipProblem, remedies } from "../../../src/setup/problem";

test("pip's failures are told apart by what it printed, and each has a way on", () => {
  const cases = {
    network:
      "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError'\nERROR: No matching distribution found for chromadb",
    disk: "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
    install: "ERROR: No matching distribution found for onnxruntime<2,>=1.31",
  };
  for (const [kind, output] of Object.entries(cases)) {
    const problem = pipProblem(output);
    expect(problem.kind).toBe(kind);
    expect(remedies(problem)).toContain("Try Again");
  }
  const none = "ERROR: Could not find a version (from versions: none)\nERROR: No matching distribution found for x";
  expect(pipProblem(none).kind).toBe("network");
  expect(pipProblem(`  Downloading y.whl\n${none}`).kind).toBe("install");
  expect(pipProblem(cases.install).message).toContain('"onnxruntime<2,>=1.31"');
  expect(pipProblem("something else").message).toContain("log");
});
