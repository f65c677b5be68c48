// The sidecar's program, its arguments and its environment.

export interface Program {
  command: string;
  args: string[];
  /** Set beside the editor's own environment. */
  env: Record<string, string>;
}

/** Variables of VS Code's own environment that a Python program must not get. */
const WITHOUT = ["PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "ELECTRON_RUN_AS_NODE"];

export function environmentFor(program: Program, own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...own, ...program.env, PYTHONUTF8: "1" };
  for (const name of WITHOUT) if (!(name in program.env)) env[name] = undefined;
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}
