import { expect, test } from "vitest";
import { type Teller, answer } from "../../../src/chat/answer";
import { Failure } from "../../../src/failure";
import type { Asked, Found } from "../../../src/search/find";
import { hit } from "../hits";

const asked: Asked = { subject: "code", query: "retry a call", mode: "hybrid" };

/** What somebody reads, in its order. */
class Read implements Teller {
  text = "";
  readonly buttons: string[] = [];
  busy(): void {}
  say(markdown: string): void {
    this.text += markdown;
  }
  link({ path, startLine }: { path: string; startLine: number }): void {
    this.text += `<${path}:${startLine}>`;
  }
  button(title: string, command: string): void {
    this.buttons.push(`${title}: ${command}`);
  }
}

const finds = (found: Found) => () => Promise.resolve(found);

test("an answer names each hit, links to it, shows its code and says why it was found", async () => {
  const read = new Read();
  await answer(asked, finds({ hits: [hit({ shares: { text: 70, meaning: 30 } })], notice: "Partial: 3 of 9." }), read);
  expect(read.text).toContain("> Partial: 3 of 9.");
  expect(read.text).toContain("**retry** (function) in <src/net/retry.py:10>");
  expect(read.text).toContain("```python\ndef retry(call):\n    return call()\n```");
  expect(read.text).toContain("0.52: text 70 %, meaning 30 %");
  expect(read.buttons).toEqual([
    "Open in Search Palette: sidecar.searchCode",
    "Keep Results in View: sidecar.results.keep",
  ]);
});

test("of many hits the best are listed, and how many there are", async () => {
  const read = new Read();
  await answer(asked, finds({ hits: Array.from({ length: 30 }, () => hit()), available: 67 }), read);
  expect(read.text.match(/```python/g)).toHaveLength(8);
  expect(read.text).toContain("8 of 67 results.");
});

test("nothing found, a failure, and an empty question each say what helps", async () => {
  const nothing = new Read();
  await answer(asked, finds({ hits: [], reason: "No file has these words." }), nothing);
  expect(nothing.text).toContain("No file has these words.");

  const failing = new Read();
  await answer(asked, () => Promise.reject(new Failure("INDEX_NOT_FOUND", "There is no index.")), failing);
  expect(failing.text).toContain("This folder is not indexed yet");
  expect(failing.buttons).toEqual(["Sidecar: Create Index: sidecar.createIndex"]);

  const empty = new Read();
  await answer({ ...asked, query: "" }, () => Promise.reject(new Error("is not asked")), empty);
  expect(empty.text).toContain("Ask for code in words");
});

test("names and paths of others are no links and no markup", async () => {
  const read = new Read();
  await answer(asked, finds({ hits: [hit({ names: ["[Show](command:x)"] })] }), read);
  expect(read.text).not.toContain("[Show](command:x)");
});

test("a model is given the question and the code that was found, and only where somebody asked for it", async () => {
  const prompts: string[] = [];
  async function* pieces() {
    yield await Promise.resolve("It is done in ");
    yield "retry.py.";
  }
  const model = (prompt: string) => {
    prompts.push(prompt);
    return Promise.resolve(pieces());
  };
  const read = new Read();
  await answer(asked, finds({ hits: [hit()] }), read, model);
  expect(read.text).toContain("It is done in retry.py.");
  expect(prompts).toHaveLength(1);
  expect(prompts[0]).toContain("retry a call");
  expect(prompts[0]).toContain("def retry(call):");
  await answer(asked, finds({ hits: [] }), new Read(), model);
  await answer(asked, finds({ hits: [hit()] }), new Read());
  expect(prompts).toHaveLength(1);
});
