import { expect, test } from "vitest";
import { environmentFor } from "../../../src/server/program";

test("the sidecar gets the editor's environment without what would change its Python", () => {
  const program = { command: "sidecar", args: [], env: { SIDECAR_MODEL: "m" } };
  const env = environmentFor(program, { PATH: "/bin", PYTHONPATH: "/x", PYTHONHOME: "/y", ELECTRON_RUN_AS_NODE: "1" });
  expect(env).toEqual({ PATH: "/bin", SIDECAR_MODEL: "m", PYTHONUTF8: "1" });
});
