// The Python that makes the private environment: the setting's, the Python extension's, otherwise one in PATH.
import { SetUpProblem } from "./problem";
import type { Run } from "./run";

export interface Python {
  command: string;
  /** As in "3.12". */
  version: string;
}

export const LOWEST = [3, 11] as const;
const ASK =
  "import sys, importlib.util as u; print('python', *sys.version_info[:2], u.find_spec('venv') is not None and u.find_spec('ensurepip') is not None)";
const ANSWER = /^python (\d+) (\d+) (True|False)\s*$/m;

/** Named ones first: they are what the sidecar is tested with, while a bare `python3` may be newer than its parts. */
export function namesInPath(platform: NodeJS.Platform): string[] {
  const named = ["python3.13", "python3.12", "python3.11", "python3", "python"];
  return platform === "win32" ? ["python", "python3", "py"] : named;
}

interface Seen {
  version: string;
  recent: boolean;
  makesEnvironments: boolean;
}

async function look(run: Run, command: string): Promise<Seen | undefined> {
  const { status, output } = await run(command, ["-I", "-c", ASK]);
  const answer = status === 0 ? ANSWER.exec(output) : null;
  if (answer === null) return undefined;
  const [major, minor] = [Number(answer[1]), Number(answer[2])];
  const recent = major > LOWEST[0] || (major === LOWEST[0] && minor >= LOWEST[1]);
  return { version: `${major}.${minor}`, recent, makesEnvironments: answer[3] === "True" };
}

export interface Wishes {
  /** The setting; empty: not set. If it is set, no other is tried. */
  setting: string;
  /** What the Python extension has selected, if it is there. */
  selected: () => Promise<string | undefined>;
  platform: NodeJS.Platform;
}

/** Rejects with `SetUpProblem`. */
export async function findPython(run: Run, { setting, selected, platform }: Wishes): Promise<Python> {
  const seen: { command: string; found: Seen }[] = [];
  const candidates = setting === "" ? [await selected(), ...namesInPath(platform)] : [setting];
  for (const command of candidates.filter((one) => one !== undefined)) {
    const found = await look(run, command);
    if (found === undefined) continue;
    if (found.recent && found.makesEnvironments) return { command, version: found.version };
    seen.push({ command, found });
  }
  throw unfit(setting, seen);
}

function unfit(setting: string, seen: readonly { command: string; found: Seen }[]): SetUpProblem {
  const bare = seen.find(({ found }) => found.recent);
  if (bare !== undefined)
    return new SetUpProblem(
      "no-venv",
      `${bare.command} (Python ${bare.found.version}) cannot create environments: its venv module is missing. On Debian ` +
        `and Ubuntu: sudo apt install python${bare.found.version}-venv.`,
    );
  const old = seen[0];
  if (old !== undefined)
    return new SetUpProblem(
      "old-python",
      `${old.command} is Python ${old.found.version}; Sidecar needs Python ${LOWEST.join(".")} or newer.`,
    );
  if (setting !== "") return new SetUpProblem("no-python", `"${setting}" (setting sidecar.python) cannot be run.`);
  return new SetUpProblem("no-python", `No Python was found. Sidecar needs Python ${LOWEST.join(".")} or newer.`);
}
