import { expect, test } from "vitest";
import type { Clock } from "../../src/base/clock.ts";
import type { PeerTiming } from "../../src/cluster/peers/timing.ts";
import { get, type GetResponse } from "./get.ts";
import { simulate, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import { runSeed } from "./run-seed.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";

const CLASSES = "/apis/resource.k8s.io/v1/deviceclasses";

interface Pair {
  readonly cluster: SimulatedCluster;
  readonly older: SimulatedServer;
  readonly newer: SimulatedServer;
  readonly askOlder: () => Promise<GetResponse>;
}

/** A cluster of 1.33 and 1.34, of which only 1.34 serves CLASSES. */
async function mixedPair(timing: Partial<PeerTiming> = {}): Promise<Pair> {
  const cluster = simulate({ seed: 1, timing });
  const older = await cluster.addServer({ release: "1.33" });
  const newer = await cluster.addServer({ release: "1.34" });
  await cluster.settle();
  return { cluster, older, newer, askOlder: () => get(cluster, older, CLASSES) };
}

test("a request for a resource that only another release serves is proxied to a server of that release", async () => {
  const { askOlder } = await mixedPair();
  expect(await askOlder()).toMatchObject({ status: 200, servedBy: "server-2 (1.34); reason=served-by-peer" });
});

test("a request for a resource of a crashed server returns 503 during the grace period, then 404", async () => {
  const { cluster, newer, askOlder } = await mixedPair();
  newer.crash();
  expect((await askOlder()).status).toBe(503);
  await cluster.advance({ seconds: 90 });
  expect((await askOlder()).status).toBe(503);
  await cluster.advance({ seconds: 12 * 60 });
  expect((await askOlder()).status).toBe(404);
});

test("the grace period counts from the departure, although the server that reports it restarts, and its 503 stays the same", async () => {
  const { cluster, older, newer, askOlder } = await mixedPair({ departedGraceMs: 60_000 });
  newer.crash();
  await cluster.advance({ seconds: 20 });
  const { status, text } = await askOlder();
  expect(status).toBe(503);
  expect(text).toMatch(/was last served by server-2 \(1\.34\), which departed at /);
  await cluster.advance({ seconds: 20 });
  await cluster.stop(older);
  await cluster.restart(older, { release: "1.33" });
  await cluster.advance({ seconds: 10 });
  expect((await askOlder()).text).toBe(text);
  await cluster.advance({ seconds: 40 });
  expect((await askOlder()).status).toBe(404);
});

test("a server that restarts as another release serves the resources of that release", async () => {
  const { cluster, older, newer } = await mixedPair();
  await cluster.stop(older);
  await cluster.restart(older, { release: "1.36" });
  newer.crash();
  const { status, servedBy } = await get(cluster, older, CLASSES);
  expect({ status, servedBy }).toEqual({ status: 200, servedBy: undefined });
});

test("a resource of a server behind a one-way partition returns 503 until the partition is healed", async () => {
  const { cluster, older, newer, askOlder } = await mixedPair();
  cluster.partition(newer, older);
  await cluster.advance({ seconds: 5 });
  expect((await askOlder()).status).toBe(503);
  cluster.network.links.unblockAll();
  await cluster.advance({ seconds: 5 });
  expect((await askOlder()).status).toBe(200);
});

test("a resource of a paused server returns 503 until the server is resumed", async () => {
  const { cluster, newer, askOlder } = await mixedPair();
  newer.pause();
  await cluster.advance({ seconds: 5 });
  expect((await askOlder()).status).toBe(503);
  newer.resume();
  await cluster.advance({ seconds: 5 });
  expect((await askOlder()).status).toBe(200);
});

test("servers do not count as departed because of a store outage", async () => {
  const { cluster, older, newer, askOlder } = await mixedPair();
  for (const server of [older, newer])
    server.setStoreFault({ isDown: true, slowMs: 0, isLagging: false, responsesLost: 0 });
  await cluster.advance({ seconds: 120 });
  expect((await askOlder()).status).not.toBe(404);
  await cluster.settle();
  expect((await askOlder()).status).toBe(200);
});

test("the same seed produces the same trace, and another seed a different one", async () => {
  const digest = async (seed: number): Promise<string> => (await runSeed({ seed, minutes: 2 })).digest;
  expect(await digest(11)).toBe(await digest(11));
  expect(await digest(11)).not.toBe(await digest(12));
});

test("a seed fails if a server keeps running without letting virtual time advance", async () => {
  let clock: Clock | undefined;
  const { violations } = await runSeed({
    ...{ seed: 1, minutes: 2 },
    plant: {
      wrapClock: (other) => (clock = other),
      wrapHandle: () => async () => {
        for (;;) await Promise.resolve(clock?.monotonic());
      },
    },
  });
  expect(violations[0]).toMatchObject({
    checker: "simulation",
    what: expect.stringContaining("virtual time does not advance"),
  });
});
