import { expect, test } from "vitest";
import { folderNames, placeOfPath } from "../../src/folderNames";

function named(...folders: [name: string, path: string][]): string[] {
  return [...folderNames(folders.map(([name, path]) => ({ name, path }))).values()];
}

test("a folder has its own name, also one that the workspace gives it", () => {
  expect(named(["api", "/home/x/api"], ["Front end", "/home/x/web"])).toEqual(["api", "Front end"]);
});

test("folders that share a name are called by as much of their paths as distinguishes them", () => {
  expect(named(["app", "/home/a/app"], ["app", "/home/b/app"], ["web", "/home/web"])).toEqual([
    "a/app",
    "b/app",
    "web",
  ]);
  expect(named(["app", "/x/src/app"], ["app", "/y/src/app"])).toEqual(["x/src/app", "y/src/app"]);
});

test("a folder inside another one of the same name is not called like it", () => {
  const [outer, inner] = named(["app", "/app"], ["app", "/app/app"]);
  expect(outer).not.toBe(inner);
});

test("a path that begins with a folder's name is a path in that folder", () => {
  const folders = folderNames([
    { name: "app", path: "/a/app" },
    { name: "app", path: "/b/app" },
    { name: "a", path: "/a" },
  ]);
  expect(placeOfPath("b/app/src/x.py", folders)).toEqual({ workspace: "/b/app", path: "src/x.py" });
  expect(placeOfPath("a/app/src/x.py", folders)).toEqual({ workspace: "/a/app", path: "src/x.py" });
  expect(placeOfPath("a/src/x.py", folders)).toEqual({ workspace: "/a", path: "src/x.py" });
  expect(placeOfPath("src/x.py", folders)).toEqual({ path: "src/x.py" });
  expect(placeOfPath("src/x.py")).toEqual({ path: "src/x.py" });
});
