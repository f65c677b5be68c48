import { Router } from "./router";

test("the router matches a route", () => {
  const router = new Router();
  router.add("/users", show);
  expect(router.match("/users/1")).toBeDefined();
});
