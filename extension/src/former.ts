// What earlier versions kept in the editor's own storage. Does not use the editor's API.
import type { Memento } from "vscode";

/**
 * Moves what is there under these keys, once. `store` puts it where all windows on a folder share it and returns whether
 * that could be done; if not, it stays.
 */
export function moveOnce(memory: Memento, keys: readonly string[], store: () => boolean): void {
  const kept = keys.filter((key) => memory.get(key) !== undefined);
  if (kept.length > 0 && store()) for (const key of kept) void memory.update(key, undefined);
}
