import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const DOCUMENT = readFileSync(new URL("docs/library.md", ROOT), "utf8");

function membersOf(file: string, type: string): string[] {
  const source = readFileSync(new URL(`src/${file}`, ROOT), "utf8");
  const [members = ""] = source.split(`interface ${type} `)[1]!.split("\n}");
  return [...members.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, name]) => name!);
}

test.each([
  ["extensions/library/resource-definition.ts", "ResourceDefinition"],
  ["extensions/library/resource-definition.ts", "ResourceVersion"],
  ["extensions/library/resource-definition.ts", "ResourceHooks"],
  ["server/library/create-api-server.ts", "ApiServerAuthentication"],
  ["server/library/create-api-server.ts", "ApiServerListen"],
  ["server/library/create-api-server.ts", "ApiServerOptions"],
])("%s: docs/library.md names every field of %s", (file, type) => {
  const members = membersOf(file, type);
  expect(members.length).toBeGreaterThan(2);
  expect(members.filter((name) => !new RegExp(`\\b${name}\\b`).test(DOCUMENT))).toEqual([]);
});
