// Which program is the sidecar, and what it is started with.

export interface Program {
  command: string;
  args: string[];
  /** Set beside the editor's own environment. */
  env: Record<string, string>;
}

/** What VS Code's own environment must not do to a Python program. */
const WITHOUT = ["PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "ELECTRON_RUN_AS_NODE"];

export function environmentFor(program: Program, own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...own, ...program.env, PYTHONUTF8: "1" };
  for (const name of WITHOUT) if (!(name in program.env)) env[name] = undefined;
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}
