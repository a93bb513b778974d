/**
 * Tests of rolling upgrades from 1.33 to 1.37 through every release between them, with a client that relies on
 * discovery.
 */
import { expect, onTestFinished, test } from "vitest";
import type { ApiResponse } from "../../src/serving/http/message.ts";
import type { PeerOptions } from "../../src/cluster/peers/peer-config.ts";
import { documentsEqual } from "../simulator/checkers/documents-equal.ts";
import { listedIsReachable } from "../simulator/checkers/listed-is-reachable.ts";
import { servedIsListed } from "../simulator/checkers/served-is-listed.ts";
import { simulate, type Plant, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { RunOptions } from "../../src/tools/simulator/server.ts";
import { DiscoveryClient } from "./every-release-client.ts";
import { nameOf, namedIn } from "./every-release-documents.ts";
import { withGate, type Gate } from "./story.ts";

const RELEASES = ["1.33", "1.34", "1.35", "1.36", "1.37"] as const;
const SERVERS = 3;
/** With all APIs enabled, every upgrade but one removes resources, and every upgrade but one adds some. */
const EVERYTHING = ["api/all=true"] as const;

interface Rolled {
  readonly client: DiscoveryClient;
  readonly cluster: SimulatedCluster;
  /** Violations that the checkers find at the end of each upgrade. */
  readonly atRest: readonly string[];
}

interface Roll {
  readonly releases: readonly string[];
  readonly gate: Gate;
  readonly source: NonNullable<PeerOptions["routingSource"]>;
  readonly plant?: Plant;
}

async function roll({ releases: [first, ...then], gate, source, plant = {} }: Roll): Promise<Rolled> {
  const cluster = simulate({ seed: 8, plant });
  onTestFinished(() => cluster.shutDown());
  const runOf = (release: string): RunOptions =>
    withGate(gate, { release, runtimeConfig: EVERYTHING, peers: { routingSource: source } });
  for (let index = 0; index < SERVERS; index++) await cluster.addServer(runOf(first!));
  await cluster.advance({ seconds: 5 });
  // Peers usually see the departure of a server at once, because a stopping server deletes its records when its open
  // requests are complete. The bound is the time in which probes detect a server that does not respond.
  const { probeIntervalMs, probeMissesMax } = cluster.timing;
  const boundMs = probeIntervalMs * probeMissesMax;
  const client = new DiscoveryClient(cluster, { leftMs: boundMs, joinedMs: boundMs });
  const atRest: string[] = [];
  client.start();
  await cluster.advance({ seconds: 4 });
  for (const release of then) {
    for (const server of cluster.servers) {
      await cluster.stop(server);
      await cluster.advance({ seconds: 2 });
      await cluster.restart(server, runOf(release));
      await cluster.advance({ seconds: 4 });
    }
    for (const checker of [servedIsListed(), listedIsReachable(), documentsEqual()])
      for (const what of await checker.whenSettled!(cluster)) atRest.push(`${release}, ${checker.name}: ${what}`);
  }
  await client.finish();
  return { client, cluster, atRest };
}

function report({ client, cluster }: Rolled, name: string): void {
  const counts = [...client.counts].map(([what, count]) => `${what} × ${count}`).sort();
  const [leftMs, joinedMs] = [client.behind.leftMs, client.behind.joinedMs].map(Math.round);
  const lines = [
    `${name}: ${Math.round(cluster.world.clock.monotonic() / 1000)} s, ${client.touched.size} resources touched`,
    `  ${counts.join(", ")}`,
    `  discovery behind by at most ${leftMs} ms after a server left, ${joinedMs} ms after one was ready`,
    `  false 404: ${client.falseNotFound.length}, listed and unreachable: ${client.unreachable.length}, served and not listed: ${client.notListed.length}`,
  ];
  console.log(lines.join("\n"));
}

function countOf({ counts }: DiscoveryClient, reported: RegExp): number {
  return [...counts].reduce((sum, [what, count]) => (reported.test(what) ? sum + count : sum), 0);
}

test.each(["discovery", "storageversion"] as const)(
  `every listed resource is served during the upgrades ${RELEASES.join(" → ")} of three servers, routed by %s`,
  async (source) => {
    const rolled = await roll({ releases: RELEASES, gate: "on", source });
    report(rolled, source);
    const { client, cluster, atRest } = rolled;
    const { falseNotFound, unreachable, notListed } = client;
    expect({ falseNotFound, unreachable, notListed, atRest }).toEqual({
      ...{ falseNotFound: [], unreachable: [], notListed: [], atRest: [] },
    });
    expect(cluster.runs.filter(({ readyAtMs }) => readyAtMs !== undefined)).toHaveLength(SERVERS * RELEASES.length);
    const served = new Set(cluster.runs.flatMap(({ groups }) => namedIn(groups).map(nameOf)));
    expect([...served].filter((name) => !client.touched.has(name))).toEqual([]);
    expect(countOf(client, /^aggregated discovery: 200/)).toBeGreaterThan(50);
    expect(countOf(client, /^legacy discovery: 200/)).toBeGreaterThan(1000);
    expect(countOf(client, /^GET: (200|404 \(object\))/)).toBeGreaterThan(4000);
    expect(countOf(client, /^(POST: 201|PATCH: 200|DELETE: 200)/)).toBeGreaterThan(600);
  },
);

const FIRST_LEG = RELEASES.slice(0, 2);

test("the first upgrade with servers that do not proxy causes wrong responses", async () => {
  const rolled = await roll({ releases: FIRST_LEG, gate: "off", source: "discovery" });
  report(rolled, "without the proxy");
  const { falseNotFound, unreachable, notListed } = rolled.client;
  expect(falseNotFound.length).toBeGreaterThan(10);
  expect(unreachable.length).toBeGreaterThan(10);
  expect(notListed.length).toBeGreaterThan(5);
});

/** Injects a bug: each server returns its first response for /api and /apis to all later requests of clients. */
function remembersDiscovery(): Plant {
  const reported = new Map<string, ApiResponse>();
  return {
    wrapHandle: (handle, serverId) => async (request) => {
      const { path, headers } = request;
      if (!["/api", "/apis"].includes(path) || headers["authorization"] === undefined) return handle(request);
      const key = `${serverId} ${path} ${String(headers["accept"])}`;
      const response = reported.get(key) ?? (await handle(request));
      reported.set(key, response);
      return response;
    },
  };
}

test("the first upgrade with outdated discovery documents lists removed resources, and their 404s do not count as false", async () => {
  const plant = remembersDiscovery();
  const rolled = await roll({ releases: FIRST_LEG, gate: "on", source: "discovery", plant });
  report(rolled, "with old discovery");
  const { client, atRest } = rolled;
  expect(client.falseNotFound).toEqual([]);
  expect(client.unreachable.length).toBeGreaterThan(10);
  expect(client.notListed.length).toBeGreaterThan(5);
  expect(atRest.length).toBeGreaterThan(10);
});
