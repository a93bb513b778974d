import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  BROKEN_CONNECTION_WAIT_MS,
  REFUSED_CONNECTION_WAIT_MS,
  RETRIES_MAX,
  RETRY_AFTER_SECONDS_MAX,
  WAIT_FOR_SERVER_MS,
} from "../../src/client/client-limits.ts";

const ROOT = new URL("../../", import.meta.url);
/** The document without runs of blanks, so that the width of its tables does not matter. */
const DOCUMENT = readFileSync(new URL("docs/client.md", ROOT), "utf8").replaceAll(/ {2,}/g, " ");

function optionsOf(file: string, type: string): string[] {
  const source = readFileSync(new URL(`src/client/${file}`, ROOT), "utf8");
  const [members = ""] = source.split(`interface ${type} `)[1]!.split("\n}");
  return [...members.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, name]) => name!);
}

test("docs/client.md explains exactly the options that exist", () => {
  const options = [
    ...optionsOf("readiness.ts", "ReadinessOptions"),
    ...optionsOf("client-node/with-evenkeel.ts", "EvenkeelOptions"),
  ];
  const [table = ""] = DOCUMENT.split("| option | default | meaning |")[1]!.split("\n\n");
  const rows = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!);
  expect(rows.toSorted()).toEqual(options.toSorted());
});

test("the numbers in docs/client.md are those of the program", () => {
  expect(DOCUMENT).toContain(`| \`retriesMax\` | ${RETRIES_MAX} |`);
  expect(DOCUMENT).toContain(`| \`waitForServerMs\` | ${WAIT_FOR_SERVER_MS} with`);
  expect(DOCUMENT).toContain(`a \`Retry-After\` of 0 to ${RETRY_AFTER_SECONDS_MAX} seconds |`);
  expect(DOCUMENT).toContain(`| ${BROKEN_CONNECTION_WAIT_MS / 1_000} s, counted`);
  expect(DOCUMENT).toContain(`| ${REFUSED_CONNECTION_WAIT_MS / 1_000} s |`);
});

test("docs/client.md names exactly the client entries that the package exports", () => {
  const { exports } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8")) as { exports: object };
  const named = new Set([...DOCUMENT.matchAll(/["`]evenkeel\/([\w/-]+)["`]/g)].map(([, path]) => `./${path}`));
  const entries = Object.keys(exports).filter((path) => path.startsWith("./client"));
  expect([...named].toSorted()).toEqual(entries.toSorted());
});

test("docs/client.md has at most the allowed number of lines", () => {
  expect(DOCUMENT.split("\n").length - 1).toBeLessThanOrEqual(130);
});
