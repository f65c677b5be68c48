// Lays out in build/package what goes into the .vsix. REPOSITORY says where the project is published.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { manifestFor, readmeFor, repositoryOf } from "./packaging.mjs";

const FOLDER = "build/package";
const PARTS = [".vscodeignore", "LICENSE", "CHANGELOG.md", "dist", "bundled", "media", "docs"];

const repository = repositoryOf(process.env.REPOSITORY);
const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const readme = readmeFor(readFileSync("README.md", "utf8"), repository, manifest.version);

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
for (const part of PARTS) cpSync(part, `${FOLDER}/${part}`, { recursive: true });
writeFileSync(`${FOLDER}/package.json`, `${JSON.stringify(manifestFor(manifest, repository), null, 2)}\n`);
writeFileSync(`${FOLDER}/README.md`, readme);
