// What earlier versions kept of searches in the editor's own storage. Does not use the editor's API.
import type { Memento } from "vscode";
import { moveOnce } from "../former";
import type { Lasting } from "../results/shelf";
import type { Shared } from "../sharedFile";
import type { LastingTyped } from "./last";

/** What lasts of a folder's searches. */
export type Searches = Lasting & LastingTyped;
export const NOTHING: Searches = { past: [], saved: [], typed: {} };

const FORMER = { past: "sidecar.history", saved: "sidecar.savedSearches", typed: "sidecar.lastQueries" } as const;

/** Moves it to where all windows on a folder share it. */
export function takeOver(memory: Memento, shared: Shared<Searches>): void {
  moveOnce(memory, Object.values(FORMER), () => {
    const former: Searches = {
      past: memory.get(FORMER.past, []),
      saved: memory.get(FORMER.saved, []),
      typed: memory.get(FORMER.typed, {}),
    };
    return shared.change(({ past, saved, typed }) => ({
      past: past.length > 0 ? past : former.past,
      saved: saved.length > 0 ? saved : former.saved,
      typed: { ...former.typed, ...typed },
    }));
  });
}
