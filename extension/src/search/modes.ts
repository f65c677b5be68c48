// The ways of searching between which a person switches, and the parameters of each.

import type { Sidecar } from "../sidecar";

export type ModeId = "hybrid" | "words" | "meaning" | "docs";

export interface Mode {
  id: ModeId;
  title: string;
  /** A codicon. */
  icon: string;
  tooltip: string;
}

const HYBRID: Mode = {
  id: "hybrid",
  title: "words and meaning",
  icon: "search-sparkle",
  tooltip: "Words and meaning",
};
export const MODES: readonly Mode[] = [
  HYBRID,
  { id: "words", title: "words only", icon: "whole-word", tooltip: "Words only" },
  { id: "meaning", title: "meaning only", icon: "sparkle", tooltip: "Meaning only" },
  { id: "docs", title: "documentation", icon: "book", tooltip: "Documentation" },
];

const TOOL_MODES = { hybrid: "hybrid", words: "fts", meaning: "vector", docs: "hybrid" } as const;

/** The default: by words and meaning, or by meaning alone if the setting turns hybrid search off. */
export function usualMode({ statuses }: Pick<Sidecar, "statuses">): "hybrid" | "vector" {
  const enabled = [...statuses.values()].map((status) => status.hybridSearch?.enabled);
  return enabled.length > 0 && enabled.every((answer) => answer === false) ? "vector" : "hybrid";
}

export function toolMode(id: ModeId): "hybrid" | "fts" | "vector" {
  return TOOL_MODES[id];
}

/** Converts any text, such as a stored one, to a mode. */
export function modeOf(id: string | undefined): Mode {
  return MODES.find((mode) => mode.id === id) ?? HYBRID;
}

export function modeAfter(id: ModeId): Mode {
  const at = MODES.findIndex((mode) => mode.id === id);
  return MODES[(at + 1) % MODES.length] ?? HYBRID;
}
