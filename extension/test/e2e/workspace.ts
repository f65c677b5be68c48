// The folder that is opened: a package's source and its readme, as a git repository of its own.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sitePackages } from "./places";

export function makeWorkspace(folder: string, packageName: string): void {
  const packages = sitePackages();
  mkdirSync(folder, { recursive: true });
  const plain = (source: string): boolean => !source.includes("__pycache__");
  cpSync(join(packages, packageName), join(folder, packageName), { recursive: true, filter: plain });
  const facts = readdirSync(packages).find((name) => name.startsWith(`${packageName}-`) && name.endsWith(".dist-info"));
  if (facts !== undefined) {
    const metadata = readFileSync(join(packages, facts, "METADATA"), "utf8");
    writeFileSync(join(folder, "README.md"), metadata.slice(metadata.indexOf("\n\n") + 2));
  }
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      cwd: folder,
      stdio: "pipe",
    });
  git("init", "--quiet", "--initial-branch=main");
  git("add", ".");
  git("commit", "--quiet", "--message=all");
}

/** All modules of a package as one text. */
export function sourceOf(packageName: string): string {
  const folder = join(sitePackages(), packageName);
  const modules = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".py"));
  return modules.map((name) => readFileSync(join(folder, name), "utf8")).join("\n\n");
}

export function indexWorkspace(program: string, folder: string, env: NodeJS.ProcessEnv): void {
  execFileSync(program, ["index", "--quiet", "--yes", "--workspace", folder], { env, stdio: "pipe" });
}
