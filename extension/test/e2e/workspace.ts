// The opened folder: the source and readme of a package, as a git repository.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MADE, sitePackages } from "./places";

const COMMITTED = "2026-01-01T12:00:00Z";

/** `files`: the least number of files; those besides the package's own look like a shop's services. */
export function makeWorkspace(folder: string, packageName: string, files = 0): void {
  const packages = sitePackages();
  mkdirSync(folder, { recursive: true });
  if (packageName === "") return;
  const plain = (source: string): boolean => !source.includes("__pycache__");
  cpSync(join(packages, packageName), join(folder, packageName), { recursive: true, filter: plain });
  const facts = readdirSync(packages).find((name) => name.startsWith(`${packageName}-`) && name.endsWith(".dist-info"));
  if (facts !== undefined) {
    const metadata = readFileSync(join(packages, facts, "METADATA"), "utf8");
    writeFileSync(join(folder, "README.md"), metadata.slice(metadata.indexOf("\n\n") + 2));
  }
  writeServices(folder, files);
  commit(folder);
}

/** Copies the files of another folder, without its history. */
export function copyWorkspace(folder: string, source: string): void {
  cpSync(source, folder, { recursive: true, filter: (path) => !path.endsWith("/.git") });
  commit(folder);
}

/** Commits the files with a fixed date: the same files are always the same commit, so that one index fits all. */
function commit(folder: string): void {
  const env = { ...process.env, GIT_AUTHOR_DATE: COMMITTED, GIT_COMMITTER_DATE: COMMITTED };
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      cwd: folder,
      env,
      stdio: "pipe",
    });
  git("init", "--quiet", "--initial-branch=main");
  git("add", ".");
  git("commit", "--quiet", "--message=all");
}

const AREAS = [
  "billing",
  "catalog",
  "customers",
  "delivery",
  "inventory",
  "orders",
  "payments",
  "returns",
  "search",
  "taxes",
];
const DEEDS = ["approve", "archive", "cancel", "export", "import", "merge", "notify", "refund", "schedule", "validate"];

function writeServices(folder: string, files: number): void {
  for (const area of files > 0 ? AREAS : []) mkdirSync(join(folder, "services", area), { recursive: true });
  for (let number = 0; number < files; number++) {
    const area = AREAS[number % 10] ?? "";
    const deed = DEEDS[Math.floor(number / 10) % 10] ?? "";
    const name = `${deed}_${area}_${Math.floor(number / 100)}`;
    writeFileSync(join(folder, "services", area, `${name}.py`), serviceText(name, deed, area));
  }
}

function serviceText(name: string, deed: string, area: string): string {
  const title = name.replace(/(^|_)(.)/g, (_, __, letter: string) => letter.toUpperCase());
  return `"""Services that ${deed} ${area}."""

from dataclasses import dataclass


@dataclass
class ${title}:
    """One request to ${deed} ${area}."""

    number: int
    reason: str

    def ${deed}(self, limit: int = 10) -> bool:
        """Whether ${area} number ${"`number`"} can be handled within the limit."""
        return self.number % limit == 0 and bool(self.reason)
`;
}

/** Returns all modules of a package as one text. */
export function sourceOf(packageName: string): string {
  const folder = join(sitePackages(), packageName);
  const modules = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".py"));
  return modules.map((name) => readFileSync(join(folder, name), "utf8")).join("\n\n");
}

export function indexWorkspace(program: string, folder: string, env: NodeJS.ProcessEnv): void {
  execFileSync(program, ["index", "--quiet", "--yes", "--workspace", folder], { env, stdio: "pipe" });
}

/** Like `indexWorkspace`, but takes over what another editor of this run has indexed, as a team would. */
export function indexOnce(program: string, folder: string, env: NodeJS.ProcessEnv): void {
  const run = (...args: string[]) => execFileSync(program, [...args, "--workspace", folder], { env, stdio: "pipe" });
  if (existsSync(MADE)) {
    try {
      run("snapshot", "get", MADE, "--yes");
      return;
    } catch (error) {
      if ((error as { status?: number }).status !== NONE_FITS) throw error;
    }
  }
  indexWorkspace(program, folder, env);
  run("snapshot", "make", "--out", MADE);
}

/** The exit status of `snapshot get` if there is no snapshot of this commit. */
const NONE_FITS = 7;
