import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as library from "./index.ts";

test("the library exports the names that docs/library.md describes", () => {
  expect(Object.keys(library).sort()).toEqual([
    "StatusError",
    "createApiServer",
    "invalidValue",
    "readKubeconfigs",
    "required",
  ]);
});

test("the library exports nothing from the tools that are built on it", () => {
  const entry = readFileSync(new URL("./index.ts", import.meta.url), "utf8");
  const files = [...entry.matchAll(/ from "([^"]+)"/g)].map(([, file]) => file!);
  expect(files).toHaveLength(6);
  expect(files.filter((file) => file.startsWith("./tools/"))).toEqual([]);
});
