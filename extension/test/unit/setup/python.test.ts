import { expect, test } from "vitest";
import { findPython } from "../../../src/setup/python";
import type { Run } from "../../../src/setup/run";

/** A machine where these commands are Pythons, by what they say of themselves. */
function machine(pythons: Record<string, string>): Run {
  return (command) => {
    const said = pythons[command];
    return Promise.resolve(said === undefined ? { status: undefined, output: "ENOENT" } : { status: 0, output: said });
  };
}
const nobody = (): Promise<undefined> => Promise.resolve(undefined);
const none = { setting: "", selected: nobody, platform: "linux" } as const;

test("the setting's Python is taken and no other is tried beside it", async () => {
  const run = machine({ "/my/python": "python 3 12 True\n", python3: "python 3 13 True\n" });
  expect(await findPython(run, { ...none, setting: "/my/python" })).toEqual({ command: "/my/python", version: "3.12" });
  await expect(findPython(run, { ...none, setting: "/not/there" })).rejects.toMatchObject({
    kind: "no-python",
    message: expect.stringContaining("/not/there") as string,
  });
});

test("the Python extension's selection goes before PATH, but an unfit one is passed over", async () => {
  const run = machine({
    "/venv/python": "python 3 11 True\n",
    "/old/python": "python 3 8 True\n",
    python3: "python 3 13 True",
  });
  const selecting = (path: string) => ({ ...none, selected: () => Promise.resolve(path) });
  expect((await findPython(run, selecting("/venv/python"))).command).toBe("/venv/python");
  expect((await findPython(run, selecting("/old/python"))).command).toBe("python3");
});

test("an old Python, one that cannot make environments and none at all are told apart", async () => {
  await expect(findPython(machine({ python3: "python 3 10 True" }), none)).rejects.toMatchObject({
    kind: "old-python",
    message: "python3 is Python 3.10; Sidecar needs Python 3.11 or newer.",
  });
  await expect(findPython(machine({ python3: "python 3 11 False" }), none)).rejects.toMatchObject({
    kind: "no-venv",
    message: expect.stringContaining("sudo apt install python3.11-venv") as string,
  });
  await expect(findPython(machine({}), none)).rejects.toMatchObject({ kind: "no-python" });
});

test("the store's stand-in for Python on Windows, which prints and does nothing, is no Python", async () => {
  const run: Run = (command) =>
    Promise.resolve(
      command === "py"
        ? { status: 0, output: "python 3 13 True\r\n" }
        : { status: 9009, output: "Python was not found" },
    );
  expect((await findPython(run, { ...none, platform: "win32" })).command).toBe("py");
});
