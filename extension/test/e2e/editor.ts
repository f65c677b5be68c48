// The one place where the editor is started: a real VS Code on loopback, with its own data, extensions and folder.
import { execFile, execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { CODE_SERVER, HOMES, NODE, PROBE, SIDECAR, VSCE, VSIX } from "./places";
import { copyWorkspace, indexOnce, makeWorkspace } from "./workspace";

export interface EditorOptions {
  /** The Python package whose files fill the folder; if empty, the folder has no files. */
  content: string;
  /** A folder whose files are copied instead of those of a package. */
  source: string | undefined;
  /** The folder gets at least this many files besides the package's, because some faults appear only in large folders. */
  files: number;
  /** Another package, opened as a second folder of the same window. */
  second: string | undefined;
  /** Whether the folder is indexed before the editor opens it. */
  indexed: boolean;
  trusted: boolean;
  /** `own`: the checkout's sidecar. `carried`: the one that the extension installs from the wheel inside it. */
  program: "own" | "carried";
  /** Whether `sidecar` is in the PATH of the user's shell. */
  inPath: boolean;
  /** Machine settings: the editor reads settings of scope `machine` and `machine-overridable` only from there. */
  machine: Record<string, unknown>;
  user: Record<string, unknown>;
  env: Record<string, string>;
  /** Whether our extension is installed. */
  extension: boolean;
  /** Whether the probe is installed too, which stands for other people's extensions. */
  probe: boolean;
}

export const DEFAULTS: EditorOptions = {
  content: "starlette",
  source: undefined,
  files: 2000,
  second: undefined,
  indexed: true,
  trusted: true,
  program: "own",
  inPath: false,
  machine: {},
  user: {},
  env: {},
  extension: true,
  probe: false,
};

export interface Editor {
  url: string;
  /** The sidecar that the settings name, if they name one. */
  program: string;
  /** The opened folder. */
  folder: string;
  env: NodeJS.ProcessEnv;
  /** Contains all files of this editor. */
  root: string;
  port: number;
  /**
   * Returns the ids of this editor's sidecar processes whose command line contains a text. A process that is just
   * starting another one is counted twice, so a number of processes is to be waited for.
   */
  processes(part: string): number[];
  /** Kills them with no chance to tidy up. */
  kill(part: string): void;
  /**
   * Stops the indexing process, or those with `part` in their command line, while `work` runs, so that the progress they
   * last reported stays on screen for as long as a test needs to look at it.
   */
  whileHeld<T>(work: () => Promise<T>, part?: string): Promise<T>;
  /** Runs the editor's program with these options, in another process than the one that serves the window. */
  command(...options: string[]): Promise<void>;
  /** Ends the program that serves the window, and starts it again. */
  restart(): Promise<void>;
  /** Returns the lines of the extension's log so far. */
  log(): string;
  stop(): Promise<void>;
}

const CALM: Record<string, unknown> = {
  "telemetry.telemetryLevel": "off",
  "workbench.startupEditor": "none",
  "workbench.enableExperiments": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.reduceMotion": "on",
  "workbench.tips.enabled": false,
  "update.mode": "none",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  // In a browser the editor saves automatically by default, so that no text would ever be unsaved.
  "files.autoSave": "off",
  "git.openRepositoryInParentFolders": "never",
  "remote.autoForwardPorts": false,
};

/** Runs commands that leave an empty editor. The last one opens a list, by which tests see that all have run. */
export const TIDY_KEY = "Control+Alt+Shift+0";
export const TIDIED = "?tidied";
/** Opens the notification centre. */
export const NOTICES_KEY = "Control+Alt+Shift+9";
const NOTICES = { key: "ctrl+alt+shift+9", command: "notifications.showList" };
const TIDY = {
  key: "ctrl+alt+shift+0",
  command: "runCommands",
  args: {
    commands: [
      "workbench.action.closeQuickOpen",
      "workbench.action.revertAndCloseActiveEditor",
      "workbench.action.closeAllEditors",
      "workbench.action.closePanel",
      "workbench.view.explorer",
      "workbench.action.focusActiveEditorGroup",
      "sidecar.results.clear",
      "notifications.clearAll",
      { command: "workbench.action.quickOpen", args: TIDIED },
    ],
  },
};

export async function startEditor(wishes: Partial<EditorOptions> = {}): Promise<Editor> {
  const options = { ...DEFAULTS, ...wishes };
  const root = newHome();
  writeProgram(root);
  if (options.inPath) writeFileSync(join(root, ".profile"), 'PATH="$HOME/bin:$PATH"\n');
  const folder = join(root, options.content || "empty");
  const env = environment(root, options);
  const names = [options.content, options.second].filter((name) => name !== undefined);
  for (const name of names) {
    const made = join(root, name || "empty");
    if (options.source === undefined) makeWorkspace(made, name, options.files);
    else copyWorkspace(made, options.source);
    if (options.indexed) indexOnce(programIn(root), join(root, name), env);
  }
  const opened = options.second === undefined ? folder : join(root, "both.code-workspace");
  if (opened !== folder) writeFileSync(opened, JSON.stringify({ folders: names.map((path) => ({ path })) }));
  const common = settle(root, options);
  const run = [CODE_SERVER, ...common];
  if (options.extension) execFileSync(NODE, [...run, "--install-extension", VSIX, "--force"], { env, stdio: "pipe" });
  if (options.probe)
    execFileSync(NODE, [...run, "--install-extension", packProbe(root), "--force"], { env, stdio: "pipe" });
  const trust = options.trusted ? ["--disable-workspace-trust"] : [];
  const serving = [...run, ...SERVING, ...trust, opened];
  const port = await freePort();
  let child = await serve(serving, port, env);
  return {
    url: `http://127.0.0.1:${port}/?${opened === folder ? "folder" : "workspace"}=${encodeURIComponent(opened)}`,
    program: programIn(root),
    folder,
    env,
    root,
    port,
    processes: (part) =>
      ours(root)
        .filter((one) => one.command.includes(part))
        .map((one) => one.id),
    kill: (part) => ours(root).forEach(({ id, command }) => command.includes(part) && signal(id, "SIGKILL")),
    whileHeld: (work, part) => whileHeld(root, work, part),
    command: async (...given) => void (await promisify(execFile)(NODE, [...run, ...given], { env })),
    restart: async () => {
      await end(child);
      child = await serve(serving, port, env);
    },
    log: () => extensionLog(root),
    stop: () => stop(child, root),
  };
}

/**
 * Makes a home folder. Its name is chosen because pictures show it, and short because the length of a socket's path is
 * limited.
 */
function newHome(): string {
  for (let number = 1; ; number++) {
    const root = join(HOMES, number === 1 ? "ada" : `ada${number}`);
    try {
      mkdirSync(root);
      return root;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

/** Packs the tests' own extension, and returns the path of the package. */
function packProbe(root: string): string {
  const file = join(root, "probe.vsix");
  const options = ["--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", file];
  execFileSync(NODE, [VSCE, "package", ...options], { cwd: PROBE, stdio: "pipe" });
  return file;
}

function programIn(root: string): string {
  return join(root, "bin/sidecar");
}

/** Makes files without read permission unreadable to the sidecar even if the tests run as root. */
function writeProgram(root: string): void {
  mkdirSync(join(root, "bin"));
  const lesser = process.getuid?.() === 0 ? "setpriv --bounding-set=-dac_override,-dac_read_search " : "";
  writeFileSync(programIn(root), `#!/bin/sh\nexec ${lesser}'${SIDECAR}' "$@"\n`, { mode: 0o755 });
}

const SERVING = [
  ...["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"],
  // Otherwise the extension host of a closed page and its sidecar stay alive for hours.
  ...["--reconnection-grace-time", "5"],
];

function environment(root: string, options: EditorOptions): NodeJS.ProcessEnv {
  const { CI: _, ...own } = process.env;
  return {
    ...own,
    HOME: root,
    SIDECAR_HOME: join(root, "home"),
    EXTENSIONS_GALLERY: '{"serviceUrl":"http://127.0.0.1:9/none"}',
    ...options.env,
  };
}

/** Writes the settings, and returns the options that separate this editor from all others. */
function settle(root: string, { machine, user, program }: EditorOptions): string[] {
  const data = join(root, "data");
  for (const place of ["User", "Machine"]) mkdirSync(join(data, place), { recursive: true });
  const write = (file: string, content: unknown) => writeFileSync(join(data, file), JSON.stringify(content));
  write("User/settings.json", { ...CALM, ...user });
  write("User/keybindings.json", [TIDY, NOTICES]);
  write("Machine/settings.json", { ...(program === "own" && { "sidecar.path": programIn(root) }), ...machine });
  writeFileSync(join(root, "config.yaml"), "cert: false\n");
  const extensions = join(root, "extensions");
  mkdirSync(extensions);
  return ["--config", join(root, "config.yaml"), "--user-data-dir", data, "--extensions-dir", extensions];
}

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

async function serve(serving: string[], port: number, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const child = spawn(NODE, [...serving, "--bind-addr", `127.0.0.1:${port}`], {
    detached: true,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  await listening(child);
  return child;
}

function listening(child: ChildProcess): Promise<void> {
  return new Promise((up, failed) => {
    let said = "";
    const heard = (bytes: Buffer) => {
      said += String(bytes);
      if (said.includes("HTTP server listening")) up();
    };
    child.stdout?.on("data", heard);
    child.stderr?.on("data", heard);
    child.on("exit", (status) => failed(new Error(`the editor ended (${status}): ${said}`)));
  });
}

interface Process {
  id: number;
  command: string;
}

/** Lists all processes started from this editor, which are those with its SIDECAR_HOME. Linux only. */
function ours(root: string): Process[] {
  const found: Process[] = [];
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    try {
      const env = readFileSync(`/proc/${name}/environ`, "utf8").split("\0");
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
      if (env.includes(`SIDECAR_HOME=${join(root, "home")}`)) found.push({ id: Number(name), command });
    } catch {
      continue; // the process has ended meanwhile
    }
  }
  return found;
}

async function whileHeld<T>(root: string, work: () => Promise<T>, part = "daemon run"): Promise<T> {
  const held = ours(root).filter(({ command }) => command.includes(part));
  held.forEach(({ id }) => signal(id, "SIGSTOP"));
  try {
    return await work();
  } finally {
    held.forEach(({ id }) => signal(id, "SIGCONT"));
  }
}

/** Sends a signal to a process that may have ended meanwhile. */
function signal(id: number, name: NodeJS.Signals): void {
  try {
    process.kill(id, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function extensionLog(root: string): string {
  const logs = join(root, "data/logs");
  const files = readdirSync(logs, { recursive: true, encoding: "utf8" });
  const own = files.filter((name) => name.includes("sidecar-search.sidecar") && name.endsWith(".log"));
  return own.map((name) => readFileSync(join(logs, name), "utf8")).join("");
}

async function end(child: ChildProcess): Promise<void> {
  const gone = new Promise((over) => child.on("exit", over));
  if (child.pid === undefined || child.exitCode !== null) return;
  process.kill(-child.pid, "SIGTERM");
  await gone;
}

async function stop(child: ChildProcess, root: string): Promise<void> {
  await end(child);
  for (const { id } of ours(root)) signal(id, "SIGKILL");
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}
