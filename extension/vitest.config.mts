import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    // Only what the extension touches, written by hand: the tests in a real editor are the truth.
    alias: { vscode: fileURLToPath(new URL("test/mocks/vscode.ts", import.meta.url)) },
  },
  test: { include: ["test/unit/**/*.test.{ts,mjs}"] },
});
