import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores(["dist", "build", "node_modules", "test/e2e", "**/*.gen.ts", "**/*.mjs", "media"]),
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      complexity: ["error", 8],
      "max-lines": ["error", 300],
      "max-lines-per-function": ["error", { max: 60 }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      // The editor's disposables are made by many hands.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      eqeqeq: "error",
    },
  },
  {
    // A message is shown by tell.ts alone, which takes sentences in which every foreign string is quoted.
    files: ["src/**"],
    ignores: ["src/tell.ts"],
    rules: {
      "no-restricted-properties": [
        "error",
        ...["showInformationMessage", "showWarningMessage", "showErrorMessage", "setStatusBarMessage"].map(
          (property) => ({
            property,
            message: "Say it with tell.ts.",
          }),
        ),
      ],
    },
  },
  {
    files: ["test/**"],
    rules: {
      "max-lines-per-function": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-empty-function": "off",
    },
  },
);
