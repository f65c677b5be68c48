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
  changesNothing(method: string): boolean {
    return method === "search";
  }
  time = 0;
  now(): number {
    return this.time;
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

  test("one that ends by itself is started again by itself", async () => {
    const room = new Room();
    const life = new Life(room);
    await life.restart();
    for (const at of [0, 60_000]) {
      room.time = at;
      room.connections.at(-1)?.end();
      await settled();
      expect(await life.request("x", {})).toBe("answer to x");
    }
    expect([room.connections.length, room.crashes]).toEqual([3, 0]);
  });

  test("one that ends again within a minute stays ended, tells so, and a restart brings it back", async () => {
    const room = new Room();
    const life = new Life(room);
    await life.restart();
    for (const at of [1000, 60_999]) {
      room.time = at;
      room.connections.at(-1)?.end();
      await settled();
    }
    expect(life.state).toBe("failed");
    expect(life.problem).toBe("Sidecar has ended unexpectedly, again within a minute.");
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

  test("a search whose sidecar ends is asked again, once; a cancelled one and what changes something are not", async () => {
    const room = new Room();
    const life = new Life(room);
    await life.restart();
    const asked: string[] = [];
    const dying = (connection: FakeConnection) => async (method: string) => {
      asked.push(method);
      connection.end();
      await settled();
      throw new Error("the pipe is closed");
    };
    const lost = new Failure("NOT_RUNNING", "Sidecar ended before it answered.");
    room.connections[0]!.answer = dying(room.connections[0]!);
    expect(await life.request("search", {})).toBe("answer to search");
    for (const [method, isCancellationRequested] of [
      ["search", true],
      ["delete", false],
    ] as const) {
      room.time += 60_000;
      const last = room.connections.at(-1)!;
      last.answer = dying(last);
      await expect(life.request(method, {}, { isCancellationRequested })).rejects.toEqual(lost);
    }
    expect(asked).toEqual(["search", "search", "delete"]);
  });

  test("a search that has ended two sidecars is not asked a third time", async () => {
    const room = new Room();
    const life = new Life(room);
    room.connecting = () => Promise.resolve();
    await life.restart();
    const die = (connection: FakeConnection) => async () => {
      const next = room.connections.length;
      connection.end();
      await settled();
      const fresh = room.connections[next];
      if (fresh !== undefined) fresh.answer = die(fresh);
      throw new Error("the pipe is closed");
    };
    room.connections[0]!.answer = die(room.connections[0]!);
    await expect(life.request("search", {})).rejects.toMatchObject({ code: "NOT_RUNNING" });
    expect([room.connections.length, life.state, room.crashes]).toEqual([2, "failed", 1]);
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
