// How far pip has come, in megabytes, by the lines that it prints.

const BYTES: Readonly<Record<string, number>> = { bytes: 1e-6, kB: 1e-3, MB: 1, GB: 1e3 };
const FETCHING = /^\s*(?:Downloading|Using cached) (\S+?)-\d\S*\.(?:whl|tar\.gz) \(([\d.]+) (bytes|kB|MB|GB)\)/;
const INSTALLING = "Installing collected packages";

export class PipProgress {
  private megabytes = 0;

  /** `whole`: how much there is to fetch, in megabytes. */
  constructor(private readonly whole: number) {}

  /** The progress that a line of pip's shows; undefined: none. */
  heard(line: string): string | undefined {
    if (line.startsWith(INSTALLING)) return "Installing what was fetched…";
    const [, name, size, unit = ""] = FETCHING.exec(line) ?? [];
    if (name === undefined) return undefined;
    const done = Math.min(this.megabytes, this.whole);
    this.megabytes += Number(size) * (BYTES[unit] ?? 0);
    return `Fetching ${name}: ${done.toFixed(0)} of ${this.whole} MB`;
  }
}
