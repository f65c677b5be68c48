import { describe, expect, test } from "vitest";
import { Failure } from "../../../src/failure";
import { Life, type Connection, type Surroundings } from "../../../src/server/life";
import type { State } from "../../../src/sidecar";

class FakeConnection implements Connection {
  stopped = false;
  private settle: () => void = () => {};
  readonly ended = new Promise<void>((settle) => (this.settle = settle));
  answer: (method: string) => Promise<unknown> = (method) => Promise.resolve(`answer to ${method}`);
  request(method: string): Promise<unknown> {
    return this.answer(method);
  }
  stop(): Promise<void> {
    this.stopped = true;
    this.end();
    return Promise.resolve();
  }
  end(): void {
    this.settle();
  }
}

class Room implements Surroundings {
  reason: Failure | undefined;
  readonly states: State[] = [];
  readonly connections: FakeConnection[] = [];
  crashes = 0;
  connecting: () => Promise<void> = () => Promise.resolve();
  reasonToRest(): Failure | undefined {
    return this.reason;
  }
  async connect(): Promise<Connection> {
    await this.connecting();
    const connection = new FakeConnection();
    this.connections.push(connection);
    return connection;
  }
  changed(state: State): void {
    this.states.push(state);
  }
  crashed(): void {
    this.crashes += 1;
  }
}

/** Until what is queued has happened. */
const settled = (): Promise<void> => new Promise((go) => setImmediate(go));

describe("life of the sidecar", () => {
  test("it starts, and answers calls that came while it started", async () => {
    const room = new Room();
    const life = new Life(room);
    const started = life.restart();
    expect(life.state).toBe("starting");
    expect(await life.request("x", {})).toBe("answer to x");
    await started;
    expect(room.states).toEqual(["starting", "running"]);
  });

  test("many restarts at once are two starts: one that runs and one for those that came meanwhile", async () => {
    const room = new Room();
    const life = new Life(room);
    await Promise.all([life.restart(), life.restart(), life.restart(), life.restart()]);
    expect(room.connections).toHaveLength(2);
    expect(room.connections[0]?.stopped).toBe(true);
    expect(room.connections[1]?.stopped).toBe(false);
    expect(room.crashes).toBe(0);
  });

  test("an end that nobody asked for is a crash, tells so, and a restart brings it back", async () => {
    const room = new Room();
    const life = new Life(room);
    await life.restart();
    room.connections[0]?.end();
    await settled();
    expect(life.state).toBe("failed");
    expect(life.problem).toBe("Sidecar has ended unexpectedly.");
    expect(room.crashes).toBe(1);
    await expect(life.request("x", {})).rejects.toMatchObject({ code: "NOT_RUNNING" });
    await life.restart();
    expect(await life.request("x", {})).toBe("answer to x");
  });

  test("a start that fails says why, and is no crash", async () => {
    const room = new Room();
    room.connecting = () => Promise.reject(new Error("No Python was found."));
    const life = new Life(room);
    await life.restart();
    expect([life.state, life.problem, room.crashes]).toEqual(["failed", "No Python was found.", 0]);
  });

  test("without a folder or without trust nothing is started, and what runs is stopped", async () => {
    const room = new Room();
    const life = new Life(room);
    await life.restart();
    room.reason = new Failure("NO_FOLDER", "No folder is open.");
    await life.restart();
    expect(life.state).toBe("stopped");
    expect(room.connections[0]?.stopped).toBe(true);
    await expect(life.request("x", {})).rejects.toEqual(room.reason);
  });

  test("a call whose sidecar ends is told that, and any other error is a failure with its code", async () => {
    const room = new Room();
    const life = new Life(room);
    await life.restart();
    const connection = room.connections[0]!;
    connection.answer = () => Promise.reject(Object.assign(new Error("x"), { data: { code: "INDEX_NOT_FOUND" } }));
    await expect(life.request("x", {})).rejects.toMatchObject({ code: "INDEX_NOT_FOUND" });
    connection.answer = async () => {
      connection.end();
      await settled();
      throw new Error("the pipe is closed");
    };
    await expect(life.request("x", {})).rejects.toEqual(
      new Failure("NOT_RUNNING", "Sidecar ended before it answered."),
    );
  });

  test("after dispose it stays off", async () => {
    const room = new Room();
    const life = new Life(room);
    await life.restart();
    await life.dispose();
    await life.restart();
    expect(room.connections).toHaveLength(1);
    expect(life.state).toBe("stopped");
  });
});

test("a set-up that somebody does not want yet is no failure, and says so to whoever calls", async () => {
  const room = new Room();
  room.connecting = () => Promise.reject(new Failure("NOT_SET_UP", "Not yet."));
  const life = new Life(room);
  await life.restart();
  expect(room.states).toEqual(["starting", "stopped"]);
  await expect(life.request("a", {})).rejects.toMatchObject({ code: "NOT_SET_UP", message: "Not yet." });
  room.connecting = () => Promise.resolve();
  await life.restart();
  expect(life.state).toBe("running");
});

test("one that rests is ended, and runs again when somebody restarts it", async () => {
  const room = new Room();
  const life = new Life(room);
  await life.restart();
  await life.rest("It has been removed.");
  expect(room.connections[0]?.stopped).toBe(true);
  expect([life.state, life.problem]).toEqual(["stopped", "It has been removed."]);
  await life.restart();
  expect(life.state).toBe("running");
});
