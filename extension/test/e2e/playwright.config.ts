import { defineConfig } from "@playwright/test";

/** Tests that need an editor of their own; the others share one. */
const OWN = /(firstStart|folders|setup|trust)\.spec\.ts$/;

export default defineConfig({
  testDir: ".",
  testMatch: "*.spec.ts",
  projects: [
    { name: "shared", testIgnore: OWN },
    { name: "own", testMatch: OWN },
  ],
  // On a crowded machine one that fails gets one more chance, and is named.
  retries: 1,
  outputDir: "../../build/e2e",
  workers: 1,
  timeout: 240_000,
  expect: { timeout: 45_000 },
  reporter: [["list"]],
  use: {
    viewport: { width: 1280, height: 800 },
    trace: "off",
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      // The last rule proves that nothing outside of this machine is needed.
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"],
    },
  },
});
