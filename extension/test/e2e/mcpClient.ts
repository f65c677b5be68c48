// An agent: a client of `sidecar mcp` that speaks the Model Context Protocol over its standard input and output.
import { spawn, type ChildProcess } from "node:child_process";
import type { Editor } from "./editor";
import { SIDECAR } from "./places";

interface Answer {
  id?: number;
  result?: { structuredContent?: Record<string, unknown>; isError?: boolean };
  error?: { message: string };
}

export class Agent {
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private last = 0;
  /** The beginning of a message whose end has not come yet. */
  private begun = "";

  private constructor(editor: Editor) {
    const args = ["mcp", "--workspace", editor.folder];
    this.child = spawn(SIDECAR, args, { env: editor.env, stdio: ["pipe", "pipe", "ignore"] });
    if (this.child.stdout === null) throw new Error("no pipe");
    this.child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      // By hand, because Node's lines end at U+2028 too, which JSON may contain.
      const lines = (this.begun + piece).split("\n");
      this.begun = lines.pop() ?? "";
      for (const line of lines) this.heard(JSON.parse(line) as Answer);
    });
  }

  static async start(editor: Editor, name: string): Promise<Agent> {
    const agent = new Agent(editor);
    const clientInfo = { name, version: "1" };
    await agent.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    agent.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return agent;
  }

  async call(tool: string, args: object = {}): Promise<Record<string, unknown>> {
    const { result, error } = await this.request("tools/call", { name: tool, arguments: args });
    if (result?.structuredContent === undefined) throw new Error(error?.message ?? JSON.stringify(result));
    return result.structuredContent;
  }

  stop(): Promise<void> {
    const gone = new Promise<void>((over) => this.child.on("exit", () => over()));
    this.child.stdin?.end();
    return gone;
  }

  private heard(answer: Answer): void {
    if (answer.id !== undefined) this.waiting.get(answer.id)?.(answer);
  }

  private request(method: string, params: object): Promise<Answer> {
    const id = ++this.last;
    const answered = new Promise<Answer>((heard) => this.waiting.set(id, heard));
    this.send({ jsonrpc: "2.0", id, method, params });
    return answered;
  }

  private send(message: object): void {
    this.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }
}
