// Problems of the set-up, in words that tell a person what to do next.

export type Kind =
  "no-python" | "old-python" | "no-venv" | "network" | "disk" | "install" | "cancelled" | "not-agreed" | "no-program";
export type Remedy = "Try Again" | "Open Settings" | "Get Python" | "Show Log";

export class SetUpProblem extends Error {
  constructor(
    readonly kind: Kind,
    message: string,
  ) {
    super(message);
    this.name = "SetUpProblem";
  }

  /** The person has decided this, so it is no fault. */
  get isChoice(): boolean {
    return this.kind === "cancelled" || this.kind === "not-agreed";
  }
}

const REMEDIES: Record<Kind, readonly Remedy[]> = {
  "no-python": ["Get Python", "Open Settings", "Try Again"],
  "old-python": ["Get Python", "Open Settings", "Try Again"],
  "no-venv": ["Open Settings", "Try Again"],
  network: ["Try Again", "Show Log"],
  disk: ["Try Again", "Show Log"],
  install: ["Show Log", "Try Again"],
  cancelled: [],
  "not-agreed": [],
  "no-program": ["Open Settings"],
};

export function remedies(problem: SetUpProblem): readonly Remedy[] {
  return REMEDIES[problem.kind];
}

const NETWORK =
  /NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|name resolution|getaddrinfo|Connection (refused|reset)|Network is unreachable|Retrying \(Retry/i;
const DISK = /No space left on device|Errno 28|not enough space/i;
/** Nothing at all was found for the first thing that was asked for. With retries off, pip says no more than that. */
const NOTHING_FOUND = "from versions: none";
const SOMETHING_FETCHED = /^\s*(Downloading|Using cached) /m;
const NONE_MATCHES = /No matching distribution found for (\S+)/;

/** The problem that pip's output describes. */
export function pipProblem(output: string): SetUpProblem {
  if (DISK.test(output))
    return new SetUpProblem("disk", "The disk is full: the private environment needs about 300 MB. Free some space.");
  if (NETWORK.test(output) || (output.includes(NOTHING_FOUND) && !SOMETHING_FETCHED.test(output)))
    return new SetUpProblem(
      "network",
      "Python's package index could not be reached. The first start needs the network once (or a proxy or mirror in " +
        "pip's own configuration); later starts do not.",
    );
  const missing = NONE_MATCHES.exec(output)?.[1];
  if (missing !== undefined)
    return new SetUpProblem("install", `There is no "${missing}" for this Python and machine. Try another Python.`);
  return new SetUpProblem("install", "The private environment could not be created. The log shows the output of pip.");
}
