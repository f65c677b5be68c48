import { expect, test } from "vitest";
import { Failure, asFailure } from "../../src/failure";

test("an error of a request keeps the sidecar's code, and says its sentence with the detail, once", () => {
  const error = Object.assign(new Error("short"), {
    code: -32010,
    data: { code: "INDEX_NOT_FOUND", userMessage: "There is no index.", detail: "Create one." },
  });
  const failure = new Failure("INDEX_NOT_FOUND", "There is no index. Create one.");
  expect(asFailure(error)).toEqual(failure);
  expect(asFailure(failure)).toBe(failure);
  error.data.userMessage = "There is no index. Create one.";
  expect(asFailure(error)).toEqual(failure);
});

test("a cancelled request and a plain error have codes too", () => {
  expect(asFailure(Object.assign(new Error("cancelled"), { code: -32800 })).code).toBe("CANCELLED");
  expect(asFailure(new Error("boom"))).toEqual(new Failure("INTERNAL", "boom"));
  expect(asFailure("boom").message).toBe("boom");
});
