// How open folders are called where there are several.

export interface Named {
  readonly name: string;
  /** An absolute path with slashes. */
  readonly path: string;
}

/** What a folder is called, by its path. */
export type FolderNames = ReadonlyMap<string, string>;

/**
 * A folder's own name; of those that share one, as much of the end of its path as distinguishes it from the others: `a/app`
 * and `b/app`.
 */
export function folderNames(folders: readonly Named[]): FolderNames {
  return new Map(folders.map((folder) => [folder.path, nameAmong(folder, folders)]));
}

function nameAmong({ name, path }: Named, folders: readonly Named[]): string {
  const others = folders.filter((one) => one.name === name && one.path !== path);
  if (others.length === 0) return name;
  const parts = path.split("/").filter((part) => part !== "");
  const ends = parts.map((_, at) => `/${parts.slice(-1 - at).join("/")}`);
  const end = ends.find((one) => others.every((other) => !other.path.endsWith(one)));
  return end?.slice(1) ?? path;
}

/** The folder that a path begins with the name of, as answers about several folders do, and the path in it. */
export function placeOfPath(path: string, folders: FolderNames = new Map()): { workspace?: string; path: string } {
  const named = [...folders].filter(([, name]) => path.startsWith(`${name}/`));
  const [workspace, name = ""] = named.toSorted(([, one], [, other]) => other.length - one.length)[0] ?? [];
  return workspace === undefined ? { path } : { workspace, path: path.slice(name.length + 1) };
}
