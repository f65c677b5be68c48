// An agent's settings with the sidecar's entry added, or the reason why the person has to add it.
import type { Agent } from "./catalog";
import { nest, withMember, type Change } from "./json";

export function withEntry(agent: Agent, current: string, entry: object): Change {
  return agent.format === "toml" ? withTable(agent, current, entry) : withMember(agent.way, current, entry);
}

/** The text for a person to paste. */
export function entryText(agent: Agent, entry: object): string {
  if (agent.format === "toml") return table(agent, entry);
  return `${JSON.stringify(nest(agent.way, entry), undefined, 2)}\n`;
}

/** The line, from 0, in which two texts begin to differ. */
export function firstDifference(before: string, after: string): number {
  const former = before.split("\n");
  const at = after.split("\n").findIndex((line, number) => line !== former[number]);
  return Math.max(0, at);
}

function withTable(agent: Agent, current: string, entry: object): Change {
  const [section = "", name = ""] = agent.way;
  const taken = new RegExp(`${section}["']?\\s*\\.\\s*["']?${name}\\b`).test(current);
  if (taken) return { refused: "There is already an entry of that name." };
  if (new RegExp(`^\\s*["']?${section}["']?\\s*=`, "m").test(current))
    return { refused: `"${section}" is written in one line, to which a table cannot be added.` };
  const gap = current === "" || current.endsWith("\n\n") ? "" : current.endsWith("\n") ? "\n" : "\n\n";
  return { text: current + gap + table(agent, entry) };
}

/** Strings and lists of strings are written in TOML as in JSON. */
function table(agent: Agent, entry: object): string {
  const lines = Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `[${agent.way.join(".")}]\n${lines.join("\n")}\n`;
}
