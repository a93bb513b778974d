import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { serveCommand } from "../../src/tools/cli/serve.ts";
import { retryAfterStep } from "../../src/serving/http/filters/if-ready.ts";

const ROOT = new URL("../../", import.meta.url);
const DOCUMENT = readFileSync(new URL("docs/readiness.md", ROOT), "utf8");

test("every flag in docs/readiness.md exists, and every flag of startup and shutdown is documented", () => {
  const flags = serveCommand().options.map(({ long }) => long!);
  const ofCurl = ["--http1.1", "--cacert"];
  const named = [...DOCUMENT.matchAll(/(?<![\w-])--[a-z][a-z0-9.-]+/g)].map(([flag]) => flag);
  expect(named.filter((flag) => !flags.includes(flag) && !ofCurl.includes(flag))).toEqual([]);
  const own = flags.filter((flag) => /^--(startup|shutdown|goaway)-/.test(flag));
  expect(own.filter((flag) => !named.includes(flag))).toEqual([]);
});

test("docs/readiness.md has every shutdown event in its table, except HTTPServerStoppedListening and PreShutdownHooksStopped", () => {
  const source = readFileSync(new URL("src/server/lifecycle.ts", ROOT), "utf8");
  const [type = ""] = source.split("type ShutdownEvent =")[1]!.split(";");
  const events = [...type.matchAll(/"(\w+)"/g)].map(([, name]) => name!);
  const missing = events.filter((name) => !DOCUMENT.includes(`| \`${name}\``));
  expect(missing.toSorted()).toEqual(["HTTPServerStoppedListening", "PreShutdownHooksStopped"]);
});

test("the bounds of Retry-After in docs/readiness.md are those of the program", () => {
  expect(DOCUMENT).toContain(`from ${retryAfterStep(0)} to ${retryAfterStep(Infinity)} seconds`);
});

test("docs/readiness.md has at most the allowed number of lines", () => {
  expect(DOCUMENT.split("\n").length - 1).toBeLessThanOrEqual(180);
});
