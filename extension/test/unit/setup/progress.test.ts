import { expect, test } from "vitest";
import { PipProgress } from "../../../src/setup/progress";

test("what pip prints is megabytes of how many, by the size of each file", () => {
  const pip = new PipProgress(100);
  expect(pip.heard("  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl (16.6 MB)")).toBe(
    "Fetching numpy: 0 of 100 MB",
  );
  expect(pip.heard("  Using cached h11-0.16.0-py3-none-any.whl (37 kB)")).toBe("Fetching h11: 17 of 100 MB");
  expect(pip.heard("  Downloading onnxruntime-1.31.1-cp311-cp311.whl (90.0 MB)")).toBe(
    "Fetching onnxruntime: 17 of 100 MB",
  );
  expect(pip.heard("  Downloading uvicorn-0.54.0-py3-none-any.whl (68 kB)")).toBe("Fetching uvicorn: 100 of 100 MB");
  expect(pip.heard("Installing collected packages: a, b")).toBe("Installing what was fetched…");
});

test("pip's other lines are no steps", () => {
  const pip = new PipProgress(100);
  expect(pip.heard("Collecting numpy==2.4.6")).toBeUndefined();
  expect(pip.heard("  Downloading numpy-2.4.6-cp311.whl.metadata (62 kB)")).toBeUndefined();
});
