// Checks whether a shell finds a program by its bare name.
import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";

export async function isInPath(name: string, env: NodeJS.ProcessEnv, platform: NodeJS.Platform): Promise<boolean> {
  const folders = (env.PATH ?? env.Path ?? "").split(delimiter).filter(isAbsolute);
  const files = platform === "win32" ? [`${name}.exe`, `${name}.cmd`] : [name];
  const there = folders.flatMap((folder) => files.map((file) => join(folder, file)));
  const found = await Promise.all(there.map((path) => access(path, constants.X_OK).then(yes, no)));
  return found.includes(true);
}

const yes = (): boolean => true;
const no = (): boolean => false;
