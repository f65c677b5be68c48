import type { Memento } from "vscode";

/** The editor's own storage, with what it has kept. */
export function memoryOf(kept: Map<string, unknown>): Memento {
  return {
    keys: () => [...kept.keys()],
    get: <T>(key: string, otherwise?: T) => (kept.get(key) ?? otherwise) as T,
    update: (key, value) => {
      if (value === undefined) kept.delete(key);
      else kept.set(key, value);
      return Promise.resolve();
    },
  };
}
