// Variables in settings that name programs, as the editor's own settings have them.

export interface Variables {
  home: string;
  workspace: string | undefined;
  env: NodeJS.ProcessEnv;
}

export function expand(text: string, { home, workspace, env }: Variables): string {
  return text
    .replace(/^~(?=[/\\]|$)/, home)
    .replaceAll("${userHome}", home)
    .replaceAll("${workspaceFolder}", workspace ?? "${workspaceFolder}")
    .replace(/\$\{env:([^}]+)\}/g, (_, name: string) => env[name] ?? "");
}
