import type { PlacedHit } from "../../src/sidecar";

/** A hit of which a test says what matters to it. */
export function hit(facts: Partial<PlacedHit> = {}): PlacedHit {
  return {
    path: "src/net/retry.py",
    content: "def retry(call):\n    return call()",
    score: 0.5219,
    startLine: 10,
    endLine: 11,
    language: "python",
    kind: "function",
    names: ["retry"],
    ...facts,
  };
}
