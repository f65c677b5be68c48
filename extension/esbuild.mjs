// Bundles the extension into one file. `--watch` builds again at every change.
import { context } from "esbuild";

const building = await context({
  entryPoints: ["src/extension.ts", "src/uninstall.ts"],
  outdir: "dist",
  bundle: true,
  minify: true,
  sourcemap: true,
  external: ["vscode"],
  // The UMD build of this package asks for its parts at run time, which a bundle cannot answer.
  alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
  format: "cjs",
  platform: "node",
  target: "node20",
  logLevel: "warning",
});
if (process.argv.includes("--watch")) await building.watch();
else {
  await building.rebuild();
  await building.dispose();
}
