import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

export default defineConfig({
  ...tests,
  testMatch: "*.bench.ts",
  projects: [{ name: "bench" }],
  retries: 0,
  timeout: 580_000,
});
