import { expect, test } from "vitest";
import { expand } from "../../../src/setup/expand";

test("a path may name home, the folder and the environment", () => {
  const variables = { home: "/home/me", workspace: "/w", env: { TOOLS: "/opt" } };
  const cases = {
    "~/bin/sidecar": "/home/me/bin/sidecar",
    "${userHome}/s": "/home/me/s",
    "${workspaceFolder}/.venv/bin/sidecar": "/w/.venv/bin/sidecar",
    "${env:TOOLS}/sidecar": "/opt/sidecar",
    "/a~b": "/a~b",
  };
  for (const [text, path] of Object.entries(cases)) expect(expand(text, variables)).toBe(path);
});
