/**
 * The deletion of namespaces when the server that runs the controllers crashes or is paused: another server must
 * continue within seconds, and the former leader must not delete anything by its old view.
 */
import { describe, expect, test } from "vitest";
import { must } from "../../src/base/assert.ts";
import { objectAt, stringAt, type JsonObject } from "../../src/meta/json.ts";
import { simulate, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";

const NAMESPACES = "/api/v1/namespaces";
const CONFIG_MAPS = `${NAMESPACES}/team/configmaps`;
const CLAIMS = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims";
const TEAM_KEY = "namespaces/team";
const LIMIT_MS = 10_000;

interface Started {
  readonly cluster: SimulatedCluster;
  readonly leader: SimulatedServer;
  /** A server that does not lead. */
  readonly other: SimulatedServer;
}

/** Starts servers, the first of which leads, with the namespace `team` and some objects in it. */
async function start(seed: number, releases: readonly string[], configMaps = 3): Promise<Started> {
  const cluster = simulate({ seed });
  const servers: SimulatedServer[] = [];
  for (const release of releases) servers.push(await cluster.addServer({ release }));
  await cluster.settle();
  const [first, other] = servers;
  expect(leaderOf(cluster)).toBe(first?.id);
  const started = { cluster, leader: must(first, "a server"), other: must(other, "a second server") };
  await create(started, NAMESPACES, "team");
  for (let index = 0; index < configMaps; index++) await create(started, CONFIG_MAPS, `map-${index}`);
  await cluster.advance({ seconds: 1 });
  return started;
}

function leaderOf({ history }: SimulatedCluster): string {
  const lease = history.get("leases/kube-system/evenkeel-controllers") ?? {};
  return stringAt(objectAt(lease, "spec"), "holderIdentity").split("_")[0] ?? "";
}

async function create({ cluster, other }: Started, target: string, name: string, more: JsonObject = {}): Promise<void> {
  const body = { metadata: { name }, ...more };
  const { status } = await cluster.world.run(other.request({ method: "POST", target, body }));
  expect(status).toBe(201);
}

async function deleteTeam({ cluster, other }: Started): Promise<void> {
  const { status } = await cluster.world.run(other.request({ method: "DELETE", target: `${NAMESPACES}/team` }));
  expect(status).toBe(200);
}

/** The time until the namespace is removed, in virtual milliseconds; Infinity if that takes more than a minute. */
async function untilGone({ cluster }: Started): Promise<number> {
  const { world, history } = cluster;
  const startedAt = world.clock.monotonic();
  while (history.get(TEAM_KEY) !== undefined) {
    if (world.clock.monotonic() - startedAt > 60_000) return Infinity;
    await world.advance(100);
  }
  return world.clock.monotonic() - startedAt;
}

/** Crashes the leader at some moment of the deletion. Resolves in the moment from which the time counts. */
const MOMENTS: Readonly<Record<string, (started: Started) => Promise<void>>> = {
  async "just before the namespace is deleted"(started) {
    started.leader.crash();
    await deleteTeam(started);
  },
  async "four seconds before the namespace is deleted"(started) {
    started.leader.crash();
    await started.cluster.advance({ seconds: 4 });
    await deleteTeam(started);
  },
  async "twelve seconds before the namespace is deleted"(started) {
    started.leader.crash();
    await started.cluster.advance({ seconds: 12 });
    await deleteTeam(started);
  },
  async "while it deletes the objects"(started) {
    const { leader, cluster } = started;
    let crashes = 0;
    const matches = (key: string): boolean => key.startsWith("configmaps/team/");
    leader.crashAt({ what: "an object", matches, skip: 1, side: "after", onCrash: () => crashes++ });
    await deleteTeam(started);
    await cluster.advance({ seconds: 0.1 });
    expect(crashes).toBe(1);
  },
  async "while it waits to finalize the namespace"(started) {
    await deleteTeam(started);
    await started.cluster.advance({ seconds: 3 });
    started.leader.crash();
  },
  async "when it finalizes the namespace"(started) {
    const { leader, cluster } = started;
    await deleteTeam(started);
    await cluster.advance({ seconds: 1 });
    const { promise, resolve } = Promise.withResolvers<void>();
    const matches = (key: string): boolean => key === TEAM_KEY;
    leader.crashAt({ what: "the namespace", matches, skip: 0, side: "before", onCrash: resolve });
    await cluster.world.run(promise);
  },
};

describe.each(Object.keys(MOMENTS))("if the leader crashes %s", (moment) => {
  test.each([
    [2, ["1.34", "1.33", "1.33"]],
    [3, ["1.33", "1.34", "1.36"]],
  ])("the namespace is removed within 10 s (seed %i, releases %j)", async (seed, releases) => {
    const started = await start(seed, releases);
    await must(MOMENTS[moment], "a moment")(started);
    expect(await untilGone(started)).toBeLessThanOrEqual(LIMIT_MS);
    expect(started.cluster.history.under("configmaps/team/")).toEqual([]);
    started.cluster.shutDown();
  });
});

test("if the leader crashes, a namespace with objects that only the leader served stays, and its conditions name the server", async () => {
  const started = await start(1, ["1.34", "1.33", "1.33"]);
  const { cluster, leader } = started;
  await create(started, CLAIMS, "gpu", { spec: {} });
  leader.crash();
  await deleteTeam(started);
  await cluster.advance({ seconds: 60 });
  expect(JSON.stringify(cluster.history.get(TEAM_KEY))).toContain(`resourceclaims.resource.k8s.io`);
  expect(JSON.stringify(cluster.history.get(TEAM_KEY))).toContain(leader.id);
  expect(cluster.history.under("resourceclaims/team/")).toHaveLength(1);
  cluster.shutDown();
});

test("if the leader stops, a namespace is removed as fast as without the stop", async () => {
  const started = await start(1, ["1.35", "1.35"]);
  await deleteTeam(started);
  const { cluster, leader } = started;
  const stopping = cluster.stop(leader);
  expect(await untilGone(started)).toBeLessThanOrEqual(6_000);
  await stopping;
  cluster.shutDown();
});

test.each([1, 2, 3, 4])(
  "a leader that is paused while it empties a namespace does not delete objects of the next namespace of that name (seed %i)",
  async (seed) => {
    const started = await start(seed, ["1.35", "1.35"], 60);
    const { cluster, leader, other } = started;
    const { world, history } = cluster;
    // The longest time in which the identity lease of the paused server does not lapse begins with a renewal.
    await untilCommit(cluster, (key) => key === `leases/kube-system/${leader.id}`);
    const renewedAt = world.clock.monotonic();
    let isPaused = false;
    history.onCommit(({ key, sending, after }) => {
      if (isPaused || !key.startsWith("configmaps/team/") || sending?.serverId !== leader.id || after !== undefined)
        return;
      isPaused = true;
      leader.pause();
    });
    await deleteTeam(started);
    await untilGone(started);
    expect({ isPaused, leader: leaderOf(cluster) }).toEqual({ isPaused: true, leader: other.id });
    await create(started, NAMESPACES, "team");
    for (let index = 0; index < 60; index++) await create(started, CONFIG_MAPS, `map-${index}`);
    expect(world.clock.monotonic() - renewedAt).toBeLessThan(cluster.timing.fenceAfterMs);
    leader.resume();
    await cluster.advance({ seconds: 30 });
    expect(history.under("configmaps/team/").filter(([key]) => key.includes("/map-"))).toHaveLength(60);
    cluster.shutDown();
  },
);

async function untilCommit({ world, history }: SimulatedCluster, matches: (key: string) => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  history.onCommit(({ key }) => {
    if (matches(key)) resolve();
  });
  await world.run(promise);
}
