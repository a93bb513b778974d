import { expect, test } from "vitest";
import { simulate, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

interface Response {
  readonly status: number;
  readonly message: string;
  /** Virtual time that passed until the response. */
  readonly tookMs: number;
}

async function create(cluster: SimulatedCluster, server: SimulatedServer, name: string): Promise<Response> {
  const { clock } = cluster.world;
  const startedAtMs = clock.monotonic();
  const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name } };
  const sending = server.request({ method: "POST", target: CONFIG_MAPS, body: JSON.stringify(object) });
  const response = await cluster.world.run(sending, 60_000);
  const { message } = await response.json<{ message?: string }>();
  return { status: response.status, message: message ?? "", tookMs: clock.monotonic() - startedAtMs };
}

async function pair(seed = 1): Promise<{ cluster: SimulatedCluster; first: SimulatedServer; second: SimulatedServer }> {
  const cluster = simulate({ seed });
  const first = await cluster.addServer({ release: "1.35" });
  const second = await cluster.addServer({ release: "1.35" });
  await cluster.settle();
  return { cluster, first, second };
}

test("a server whose machine was suspended is fenced before its first write, until it has renewed its lease", async () => {
  const { cluster, first, second } = await pair();
  expect((await create(cluster, first, "before")).status).toBe(201);
  first.suspend();
  await cluster.advance({ seconds: 30 });
  expect(second.run?.server.view().peers).toEqual([]);
  first.resume();
  expect(await create(cluster, first, "stale")).toMatchObject({
    status: 503,
    message: expect.stringMatching(/^this server rejects writes: .* has not been renewed for 3[0-9] s$/),
    tookMs: 0,
  });
  await cluster.advance({ seconds: 10 });
  expect((await create(cluster, first, "after")).status).toBe(201);
  expect(second.run?.server.view().peers).toHaveLength(1);
  cluster.shutDown();
});

/** The revision at which a key was last written; 0 if the store does not have the key. */
async function revisionOf(cluster: SimulatedCluster, key: string): Promise<number> {
  const { items } = await cluster.world.run(cluster.world.openKv().range({ start: key }));
  return items[0]?.modRevision ?? 0;
}

test.each([1, 2, 3, 4])(
  "a write that had passed the fence before the machine was suspended reaches the store only after the lease was renewed (seed %i)",
  async (seed) => {
    const { cluster, first } = await pair(seed);
    const leaseKey = `/registry/leases/kube-system/${first.id}`;
    // The write waits for the slow store when the machine is suspended.
    first.setStoreFault({ isDown: false, slowMs: 2_000, isLagging: false, responsesLost: 0 });
    const writing = create(cluster, first, "late");
    await cluster.advance({ seconds: 0 });
    first.suspend();
    await cluster.advance({ seconds: 30 });
    expect(await revisionOf(cluster, "/registry/configmaps/default/late")).toBe(0);
    const before = await revisionOf(cluster, leaseKey);
    first.setStoreFault({ isDown: false, slowMs: 0, isLagging: false, responsesLost: 0 });
    first.resume();
    const { status } = await writing;
    const written = await revisionOf(cluster, "/registry/configmaps/default/late");
    const renewed = await revisionOf(cluster, leaseKey);
    if (status === 201) expect([before < renewed, renewed < written]).toEqual([true, true]);
    else expect([status >= 500, written]).toEqual([true, 0]);
    cluster.shutDown();
  },
);

test("the timers of a suspended machine stand still, and those of a paused process do not", async () => {
  const cluster = simulate({ seed: 1 });
  const server = await cluster.addServer({ release: "1.35" });
  const { host } = server.run!;
  for (const [stop, ringsAfterMs] of [
    [() => host.pause(), 0],
    [() => host.suspend(), 4_000],
  ] as const) {
    let rangAtMs: number | undefined;
    host.clock.after(5_000, () => (rangAtMs = cluster.world.clock.monotonic()));
    await cluster.advance({ seconds: 1 });
    stop();
    await cluster.advance({ seconds: 10 });
    const resumedAtMs = cluster.world.clock.monotonic();
    host.resume();
    await cluster.advance({ seconds: 10 });
    expect(rangAtMs! - resumedAtMs).toBeCloseTo(ringsAfterMs, 3);
  }
  cluster.shutDown();
});
