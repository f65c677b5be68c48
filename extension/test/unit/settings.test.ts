import { expect, test } from "vitest";
import { chosen, concernsSidecar, split } from "../../src/settings";
import type { SidecarSetting } from "../../src/settings.gen";

const SIZE: SidecarSetting = { key: "maxFileSize", environment: "SIDECAR_MAX_FILE_SIZE", scope: "workspace" };
const MODEL: SidecarSetting = { key: "model", environment: "SIDECAR_MODEL", scope: "user" };
const OFFLINE: SidecarSetting = { key: "offline", environment: "SIDECAR_OFFLINE", scope: "user" };

test("a workspace's value goes before the person's, but never for what no workspace may set", () => {
  const found = { globalValue: "mine", workspaceValue: "theirs" };
  expect(chosen(SIZE, found)).toBe("theirs");
  expect(chosen(MODEL, found)).toBe("mine");
  expect(chosen(MODEL, { workspaceValue: "theirs" })).toBeUndefined();
});

test("only what is set is passed on: the rest is the sidecar's own business", () => {
  const values: Record<string, unknown> = { maxFileSize: "2MB", offline: true };
  const passed = split([SIZE, MODEL, OFFLINE], (setting) => values[setting.key]);
  expect(passed).toEqual({
    options: { maxFileSize: "2MB" },
    environment: {
      SIDECAR_OFFLINE: "true",
      SIDECAR_SET_IN_EDITOR: "SIDECAR_OFFLINE",
    },
  });
  expect(split([SIZE, MODEL], () => undefined).environment).toEqual({});
});

test("what is set and is no text is passed on as it is, for the sidecar to say what is wrong", () => {
  const values: Record<string, unknown> = { maxFileSize: -1, model: 7, offline: ["yes"] };
  const { options, environment } = split([SIZE, MODEL, OFFLINE], (setting) => values[setting.key]);
  expect(options).toEqual({ maxFileSize: -1 });
  expect(environment).toMatchObject({
    SIDECAR_MODEL: "7",
    SIDECAR_OFFLINE: '["yes"]',
    SIDECAR_SET_IN_EDITOR: "SIDECAR_MODEL,SIDECAR_OFFLINE",
  });
});

test("only a setting that the sidecar is started with has it started anew", () => {
  const changed = (...names: string[]) => concernsSidecar((setting) => names.includes(setting));
  expect(changed("sidecar.model")).toBe(true);
  expect(changed("sidecar.path")).toBe(true);
  expect(changed("sidecar.hybridSearch.enabled", "editor.fontSize")).toBe(true);
  expect(changed("sidecar.similarCodeLens")).toBe(false);
  expect(changed("sidecar.trace.server", "editor.fontSize")).toBe(false);
});
