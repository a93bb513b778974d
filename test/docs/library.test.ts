import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const ROOT = new URL("../../", import.meta.url);
const DOCUMENT = readFileSync(new URL("docs/library.md", ROOT), "utf8");

function membersOf(file: string, type: string): string[] {
  const source = readFileSync(new URL(`src/server/${file}`, ROOT), "utf8");
  const [members = ""] = source.split(`interface ${type} `)[1]!.split("\n}");
  return [...members.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(([, name]) => name!);
}

test.each([
  ["api-server/resource-definition.ts", "ResourceDefinition"],
  ["api-server/resource-definition.ts", "ResourceVersion"],
  ["api-server/resource-definition.ts", "ResourceHooks"],
  ["create-api-server.ts", "ApiServerAuthentication"],
  ["create-api-server.ts", "ApiServerListen"],
  ["create-api-server.ts", "ApiServerOptions"],
])("%s: every member of %s is in the document", (file, type) => {
  const members = membersOf(file, type);
  expect(members.length).toBeGreaterThan(2);
  expect(members.filter((name) => !new RegExp(`\\b${name}\\b`).test(DOCUMENT))).toEqual([]);
});
