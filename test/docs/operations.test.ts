import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { certsCommand } from "../../src/tools/cli/certs.ts";
import { explainRouteCommand } from "../../src/tools/cli/explain-route.ts";
import { serveCommand } from "../../src/tools/cli/serve.ts";
import { statusCommand } from "../../src/tools/cli/status.ts";
import { DEFAULT_PEER_TIMING } from "../../src/cluster/peers/timing.ts";
import { RULES } from "../../src/cluster/peers/route.ts";
import { startServer } from "../api/start.ts";
import { missingLine, runnableBlocks } from "./blocks.ts";

const DOCUMENT = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");

test("docs/operations.md explains every routing rule", () => {
  expect(Object.keys(RULES).filter((rule) => !DOCUMENT.includes(`\`${rule}\``))).toEqual([]);
});

test("every flag in docs/operations.md exists, and the flags of peer probes, endpoint records, fence and grace period are documented", () => {
  const commands = [serveCommand(), certsCommand(), statusCommand(), explainRouteCommand()];
  const flags = new Set(commands.flatMap(({ options }) => options.map(({ long }) => long)));
  const named = new Set([...DOCUMENT.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => flag));
  // --cacert is a flag of curl.
  named.delete("--cacert");
  expect([...named].filter((flag) => !flags.has(flag))).toEqual([]);
  for (const flag of ["--peer-probe-interval", "--peer-endpoint-ttl", "--fence-after", "--departed-grace"])
    expect(named).toContain(flag);
});

test("the durations in the table of docs/operations.md are the defaults", () => {
  const { probeIntervalMs, probeMissesMax, endpointTtlSeconds, leaseDurationSeconds, leaseRenewMs, fenceAfterMs } =
    DEFAULT_PEER_TIMING;
  const defaultsOf = (flag: string): string | undefined =>
    DOCUMENT.split("\n")
      .find((line) => line.startsWith(`| \`${flag}\``))
      ?.split("|")[2]
      ?.trim();
  expect(defaultsOf("--peer-probe-interval")).toBe(`${probeIntervalMs}ms, ${probeMissesMax}`);
  expect(defaultsOf("--peer-endpoint-ttl")).toBe(
    `${endpointTtlSeconds}s, ${DEFAULT_PEER_TIMING.endpointRefreshMs / 1000}s`,
  );
  expect(defaultsOf("--identity-lease-duration")).toBe(`${leaseDurationSeconds}s, ${leaseRenewMs / 1000}s`);
  expect(defaultsOf("--fence-after")).toBe(`${fenceAfterMs / 1000}s`);
  expect(defaultsOf("--departed-grace")).toBe(`${DEFAULT_PEER_TIMING.departedGraceMs / 60_000}m`);
});

test("every metric in docs/operations.md exists", async () => {
  await using api = await startServer();
  const families = new Set([...(await api.get("/metrics")).text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
  const named = new Set([...DOCUMENT.matchAll(/\b(?:kubernetes_)?(?:apiserver|evenkeel|aggregator)_\w+/g)].map(String));
  expect([...named].filter((name) => !families.has(name))).toEqual([]);
  expect(named.size).toBeGreaterThan(8);
});

test("docs/operations.md has at most the allowed number of lines", () => {
  expect(DOCUMENT.split("\n").length - 1).toBeLessThanOrEqual(250);
});

test("a runnable block of a document is fenced as sh, and a text block below it is its expected output", () => {
  const document = "# A\n\n```sh\necho a\n```\n\n```text\na  …\n```\n\n```yaml\nb: 1\n```\n\n```sh\ntrue\n```\n";
  expect(runnableBlocks(document)).toEqual([
    { line: 3, script: "echo a\n", prints: ["a  …"] },
    { line: 15, script: "true\n", prints: [] },
  ]);
  expect(missingLine(["a  …"], "x\na    [b]\r\n")).toBeUndefined();
  expect(missingLine(["x", "a.c"], "x\nabc\n")).toBe("a.c");
});
