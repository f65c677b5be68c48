import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: ".",
  testMatch: "*.spec.ts",
  outputDir: "../../build/e2e",
  workers: 1,
  // The repeat gets a fresh window. A test that passes only then is listed as flaky and has to be mended: CONTRIBUTING.md.
  retries: 1,
  // On a busy machine an index of 2,000 files takes minutes.
  timeout: 400_000,
  expect: { timeout: 45_000 },
  reporter: [["list"]],
  use: {
    viewport: { width: 1280, height: 850 },
    trace: "off",
    actionTimeout: 60_000,
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      // The last rule blocks every other host, which proves that nothing outside this machine is needed.
      args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"],
    },
  },
});
