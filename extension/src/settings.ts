// The settings in force. Only what somebody has set is passed on: the sidecar knows its defaults and has other layers.
import * as vscode from "vscode";
import { SIDECAR_SETTINGS, type SidecarSetting } from "./settings.gen";

export const SECTION = "sidecar";
const SET_IN_EDITOR = "SIDECAR_SET_IN_EDITOR";

export interface LaunchSettings {
  /** The person's own `sidecar`; empty: the private environment. */
  path: string;
  /** The Python that makes the private environment; empty: look for one. */
  python: string;
  /** The sidecar's settings that are set, for `initializationOptions`. */
  options: Record<string, unknown>;
  /** The settings that it takes only from its environment, by variable. */
  environment: Record<string, string>;
}

interface Inspected {
  globalValue?: unknown;
  workspaceValue?: unknown;
  workspaceFolderValue?: unknown;
}

export function launchSettings(): LaunchSettings {
  const values = vscode.workspace.getConfiguration(SECTION);
  const set = (setting: SidecarSetting): unknown => chosen(setting, values.inspect(setting.key));
  return {
    path: values.get("path", "").trim(),
    python: values.get("python", "").trim(),
    ...split(SIDECAR_SETTINGS, set),
  };
}

/** The value that a person has set; the workspace's value comes first where it is allowed. */
export function chosen(setting: SidecarSetting, found: Inspected | undefined): unknown {
  if (setting.scope === "user") return found?.globalValue;
  return found?.workspaceFolderValue ?? found?.workspaceValue ?? found?.globalValue;
}

export function split(
  settings: readonly SidecarSetting[],
  value: (setting: SidecarSetting) => unknown,
): Pick<LaunchSettings, "options" | "environment"> {
  const options: Record<string, unknown> = {};
  const environment: Record<string, string> = {};
  for (const setting of settings) {
    const set = value(setting);
    if (set === undefined) continue;
    // The sidecar does not take these from the workspace's author, and the editor's values may come from the workspace.
    if (setting.scope === "user")
      environment[setting.environment] = typeof set === "string" ? set : JSON.stringify(set);
    else options[setting.key] = set;
  }
  const variables = Object.keys(environment);
  // What is wrong with one of them is then said of the setting, which is what the person knows.
  if (variables.length > 0) environment[SET_IN_EDITOR] = variables.join(",");
  return { options, environment };
}

/** Whether a change concerns a value with which the sidecar is started. */
export function concernsSidecar(isChanged: (setting: string) => boolean): boolean {
  const keys = ["path", "python", ...SIDECAR_SETTINGS.map(({ key }) => key)];
  return keys.some((key) => isChanged(`${SECTION}.${key}`));
}
