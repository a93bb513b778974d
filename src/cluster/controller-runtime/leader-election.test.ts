import { describe, expect, test } from "vitest";
import { startServer, type Json, type TestServer } from "../../../test/api/start.ts";
import { StoreEpochs } from "../../base/store-epoch.ts";
import { FaultyKv } from "../../../test/api/faulty-kv.ts";
import { DEFAULT_LEADER_TIMING, leaderTimingErrors, runLeaderElection, type LeaderTiming } from "./leader-election.ts";
import { Elector, LEASE_NAME, type ElectorOptions } from "../../../test/testing/cluster/controller-runtime/elector.ts";
import type { Passage } from "../../../test/testing/cluster/controller-runtime/host.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LEASE = `${LEASES}/${LEASE_NAME}`;
/** The timing of client-go, whose round numbers make the tests easier to read. */
const TIMING: LeaderTiming = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };
/** Maximum time between two reads of the lease. */
const LOOK_MS = 2_000 * 1.2;
const PROMPT: Passage = { thereMs: 0, backMs: 0, isLost: "nowhere" };
const SLOW: Passage = { ...PROMPT, backMs: 2_000 };
const LOST: Passage = { ...PROMPT, isLost: "there" };

function elector(server: TestServer, identity: string, options: Partial<ElectorOptions> = {}): Elector {
  return new Elector(server.world, server.server.transport, { identity, timing: TIMING, ...options });
}

async function lease(server: TestServer): Promise<Json> {
  return (await server.get(LEASE)).body.spec;
}

describe("the lease", () => {
  test("names the leader and the time since which it leads, and is renewed every 2 s", async () => {
    await using server = await startServer();
    const startedAt = server.world.clock.now();
    await using one = elector(server, "one");
    await server.world.advance(0);
    expect(one.isLeading).toBe(true);
    const acquireTime = new Date(startedAt).toISOString().replace("Z", "000Z");
    const spec = { holderIdentity: "one", leaseDurationSeconds: 15, acquireTime, leaseTransitions: 0 };
    expect(await lease(server)).toEqual({ ...spec, renewTime: acquireTime });
    await server.world.advance(2_000);
    const renewTime = new Date(startedAt + 2_000).toISOString().replace("Z", "000Z");
    expect(await lease(server)).toEqual({ ...spec, renewTime });
    await server.world.advance(600_000);
    expect(one.terms).toHaveLength(1);
    expect(one.isLeading).toBe(true);
    expect(one.warnings).toEqual([]);
  });

  test("keeps metadata that other clients have written", async () => {
    await using server = await startServer();
    await using one = elector(server, "one");
    await server.world.advance(0);
    await server.mergePatch(LEASE, { metadata: { labels: { mine: "1" } } });
    await server.world.advance(20_000);
    const { body } = await server.get(LEASE);
    expect(body.metadata.labels).toEqual({ mine: "1" });
    expect(one.terms).toHaveLength(1);
    expect(one.isLeading).toBe(true);
    expect(one.warnings).toEqual([]);
  });

  test("that was never held is acquired, even if it has invalid values", async () => {
    await using server = await startServer();
    const spec = { leaseTransitions: 2 ** 31 - 1 };
    await server.create(LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: LEASE_NAME },
      spec,
    });
    await using one = elector(server, "one");
    await server.world.advance(0);
    expect(one.isLeading).toBe(true);
    expect((await lease(server)).leaseTransitions).toBe(0);
  });

  test("with an excessive duration expires after 15 s", async () => {
    await using server = await startServer();
    const spec = { holderIdentity: "somebody", leaseDurationSeconds: 2 ** 31 - 1 };
    await server.create(LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: LEASE_NAME },
      spec,
    });
    await using one = elector(server, "one");
    await server.world.advance(14_999);
    expect(one.isLeading).toBe(false);
    await server.world.advance(1 + LOOK_MS);
    expect(one.isLeading).toBe(true);
  });

  test("expires after its own duration, counted from when the elector first saw it", async () => {
    await using server = await startServer();
    const spec = { holderIdentity: "somebody", leaseDurationSeconds: 40, renewTime: "2001-01-01T00:00:00.000000Z" };
    await server.create(LEASES, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: LEASE_NAME },
      spec,
    });
    await server.world.advance(100_000);
    await using one = elector(server, "one");
    await server.world.advance(39_999);
    expect(one.isLeading).toBe(false);
    await server.world.advance(1 + LOOK_MS);
    expect(one.isLeading).toBe(true);
    expect((await lease(server)).leaseTransitions).toBe(1);
  });
});

describe("among several electors", () => {
  test("one creates a missing lease, and the others wait", async () => {
    await using server = await startServer();
    await using one = elector(server, "one");
    await using two = elector(server, "two");
    await using three = elector(server, "three");
    const all = [one, two, three];
    await server.world.advance(0);
    expect(all.filter(({ isLeading }) => isLeading)).toHaveLength(1);
    await server.world.advance(120_000);
    expect(all.flatMap(({ terms }) => terms)).toHaveLength(1);
    expect(all.flatMap(({ warnings }) => warnings)).toEqual([]);
  });

  test("another one takes over from a crashed leader 15 s after its last renewal, and not earlier", async () => {
    await using server = await startServer();
    const one = elector(server, "one");
    await server.world.advance(0);
    await using two = elector(server, "two");
    await server.world.advance(7_000);
    one.host.crash();
    const renewedAt = 6_000;
    await server.world.advance(renewedAt + 15_000 - 7_000 - 1);
    expect(two.isLeading).toBe(false);
    await server.world.advance(1 + 2 * LOOK_MS);
    expect(two.isLeading).toBe(true);
    expect(await lease(server)).toMatchObject({ holderIdentity: "two", leaseTransitions: 1 });
  });

  test.each([1, 2, 3, 4])(
    "another one takes over within 9 s after a crash of the leader, with the default timing (seed %i)",
    async (seed) => {
      const timing = DEFAULT_LEADER_TIMING;
      await using server = await startServer({ seed });
      const one = elector(server, "one", { timing });
      await server.world.advance(0);
      await using two = elector(server, "two", { timing });
      await using three = elector(server, "three", { timing });
      // The leader has just renewed its lease, which is the worst moment.
      await server.world.advance(60_000);
      one.host.crash();
      await server.world.advance(6_999);
      expect([two.isLeading, three.isLeading]).toEqual([false, false]);
      await server.world.advance(2_000);
      expect([two.isLeading, three.isLeading].filter((isLeading) => isLeading)).toHaveLength(1);
    },
  );

  test("another one takes over at its next read of the lease after the leader has stopped, when the leader's work has ended", async () => {
    await using server = await startServer();
    const ended: string[] = [];
    const work = async (signal: AbortSignal): Promise<void> => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      await new Promise<void>((resolve) => void server.world.clock.after(3_000, resolve));
      ended.push(JSON.stringify(await lease(server)));
    };
    const one = elector(server, "one", { work });
    await server.world.advance(0);
    await using two = elector(server, "two");
    await server.world.advance(5_000);
    await one.stop();
    expect(one.isLeading).toBe(false);
    expect(ended).toEqual([expect.stringContaining('"holderIdentity":"one"')]);
    expect(await lease(server)).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 0 });
    await server.world.advance(LOOK_MS);
    expect(two.isLeading).toBe(true);
    expect(await lease(server)).toMatchObject({ holderIdentity: "two", leaseDurationSeconds: 15, leaseTransitions: 1 });
  });

  test("none acquires a lease that was deleted while its leader is alive, and the leader creates it again", async () => {
    await using server = await startServer();
    await using one = elector(server, "one");
    await server.world.advance(0);
    await using two = elector(server, "two");
    for (let round = 0; round < 20; round++) {
      await server.world.advance(1_900);
      await server.delete(LEASE);
    }
    await server.world.advance(2_000);
    expect(one.isLeading).toBe(true);
    expect([one.terms.length, two.terms.length]).toEqual([1, 0]);
    expect((await lease(server)).holderIdentity).toBe("one");
  });

  test("one acquires the lease of a crashed leader even if the lease was deleted", async () => {
    await using server = await startServer();
    const one = elector(server, "one");
    await server.world.advance(0);
    await using two = elector(server, "two");
    await server.world.advance(5_000);
    one.host.crash();
    await server.delete(LEASE);
    await server.world.advance(15_000 + LOOK_MS);
    expect(two.isLeading).toBe(true);
  });
});

describe("a leader", () => {
  test("that was paused too long is no longer leading at the moment it resumes, and its term ends", async () => {
    await using server = await startServer();
    await using one = elector(server, "one");
    await server.world.advance(0);
    await using two = elector(server, "two");
    await server.world.advance(5_000);
    one.host.pause();
    await server.world.advance(30_000);
    expect(one.isLeading).toBe(false);
    expect(one.terms[0]!.endedAtMs).toBeUndefined();
    expect(two.isLeading).toBe(true);
    one.host.resume();
    expect(one.isLeading).toBe(false);
    await server.world.advance(0);
    expect(one.terms[0]!.endedAtMs).toBeDefined();
    await server.world.advance(60_000);
    expect(one.terms).toHaveLength(1);
    expect((await lease(server)).holderIdentity).toBe("two");
  });

  test("that was paused during a renewal does not lead because of the late response", async () => {
    await using server = await startServer();
    await using one = elector(server, "one");
    await server.world.advance(0);
    one.host.passage = () => ({ ...PROMPT, backMs: 500 });
    await server.world.advance(2_100);
    one.host.pause();
    await server.world.advance(20_000);
    // When the host resumes, the response arrives before the timers run.
    one.host.resume();
    expect(one.isLeading).toBe(false);
    await server.world.advance(0);
    expect(one.isLeading).toBe(false);
    expect(one.terms[0]!.endedAtMs).toBeDefined();
  });

  test("counts the renew deadline from before it sent the renewal, not from the response", async () => {
    await using server = await startServer();
    const passages = [SLOW, SLOW, SLOW];
    await using one = elector(server, "one", { passage: () => passages.shift() ?? LOST });
    // The elector reads and then creates the lease, each in 2 s. It sends the renewal at 6 s, and the response arrives
    // at 8 s.
    await server.world.advance(3_999);
    expect(one.isLeading).toBe(false);
    await server.world.advance(12_000);
    expect(one.isLeading).toBe(true);
    await server.world.advance(1);
    expect(one.isLeading).toBe(false);
  });

  test("counts the renew deadline of a new term from before it read the lease", async () => {
    await using server = await startServer();
    const passages = [SLOW, SLOW];
    await using one = elector(server, "one", { passage: () => passages.shift() ?? LOST });
    await server.world.advance(9_999);
    expect(one.isLeading).toBe(true);
    await server.world.advance(1);
    expect(one.isLeading).toBe(false);
  });

  test("whose term expired before a renewal succeeded does not lead again in that term, although it holds the lease", async () => {
    await using server = await startServer();
    const timing = { ...TIMING, retryPeriodMs: 8_000 };
    await using one = elector(server, "one", { timing });
    await server.world.advance(0);
    one.host.passage = () => ({ ...PROMPT, backMs: 500 });
    await server.world.advance(8_100);
    one.host.pause();
    await server.world.advance(2_900);
    expect(one.isLeading).toBe(false);
    one.host.resume();
    await server.world.advance(0);
    expect(one.isLeading).toBe(false);
    expect(one.terms).toMatchObject([{ endedAtMs: server.world.clock.monotonic() }]);
  });

  test("whose requests all fail stops leading 10 s after it sent the last successful request", async () => {
    await using server = await startServer();
    await using one = elector(server, "one");
    await server.world.advance(1_000);
    const startedAt = one.terms[0]!.startedAtMs;
    one.host.passage = () => LOST;
    await server.world.advance(8_999);
    expect(one.isLeading).toBe(true);
    await server.world.advance(1);
    expect(one.terms[0]!.endedAtMs! - startedAt).toBe(10_000);
    expect(one.warnings[0]).toContain("leader lease renewal failed");
    one.host.passage = () => PROMPT;
    await server.world.advance(20_000);
    expect(one.isLeading).toBe(true);
    expect(one.terms).toHaveLength(2);
  });

  test.each([
    ["a request hangs", { ...PROMPT, backMs: 3_600_000 }],
    ["responses are lost", { ...PROMPT, isLost: "back" }],
  ] satisfies [string, Passage][])("continues to lead if %s for 5 s", async (_what, passage) => {
    await using server = await startServer();
    await using one = elector(server, "one");
    await server.world.advance(1_000);
    one.host.passage = () => passage;
    await server.world.advance(5_000);
    one.host.passage = () => PROMPT;
    await server.world.advance(60_000);
    expect(one.isLeading).toBe(true);
    expect(one.terms).toHaveLength(1);
  });

  test("stops at its next renewal when another client changed the holder", async () => {
    await using server = await startServer();
    await using one = elector(server, "one");
    await server.world.advance(100);
    await server.mergePatch(LEASE, { spec: { holderIdentity: "another" } });
    await server.world.advance(2_000);
    expect(one.isLeading).toBe(false);
    expect(one.terms[0]!.endedAtMs).toBeDefined();
    expect((await lease(server)).holderIdentity).toBe("another");
  });

  test.each([
    ["ends", (): Promise<void> => Promise.resolve()],
    ["fails", (): Promise<void> => Promise.reject(new Error("broken"))],
    [
      "fails at once",
      (): Promise<void> => {
        throw new Error("broken");
      },
    ],
  ])("whose work %s releases the lease and may lead again later", async (_what, work) => {
    await using server = await startServer();
    await using one = elector(server, "one", { work });
    await server.world.advance(100);
    expect(one.isLeading).toBe(false);
    expect((await lease(server)).holderIdentity).toBe("");
    await server.world.advance(LOOK_MS);
    expect(one.terms).toHaveLength(2);
  });

  test("whose work does not end does not compete again", async () => {
    await using server = await startServer();
    let finish = (): void => {};
    const work = (): Promise<void> => new Promise((resolve) => (finish = resolve));
    await using one = elector(server, "one", { work });
    await server.world.advance(100);
    await server.mergePatch(LEASE, { spec: { holderIdentity: "", leaseDurationSeconds: 1 } });
    await server.mergePatch(LEASE, { spec: { holderIdentity: "another" } });
    await server.world.advance(60_000);
    expect(one.isLeading).toBe(false);
    expect(one.terms).toHaveLength(1);
    finish();
    await server.world.advance(LOOK_MS);
    expect(one.terms).toHaveLength(2);
    finish();
    await server.world.advance(0);
  });
});

describe("an elector", () => {
  test("retries while the store cannot be reached, and leads when it can", async () => {
    let kv: FaultyKv | undefined;
    await using server = await startServer({ wrapKv: (real) => (kv = new FaultyKv(real)) });
    kv!.setDown(true);
    await using one = elector(server, "one");
    await server.world.advance(120_000);
    expect(one.terms).toEqual([]);
    expect(one.warnings.length).toBeGreaterThan(10);
    expect(one.warnings[0]).toContain("acquiring the leader lease failed");
    kv!.setDown(false);
    await server.world.advance(30_000);
    expect(one.isLeading).toBe(true);
  });

  test("that stops while the store cannot be reached gives up releasing the lease", async () => {
    let kv: FaultyKv | undefined;
    await using server = await startServer({ wrapKv: (real) => (kv = new FaultyKv(real)) });
    const one = elector(server, "one");
    await server.world.advance(100);
    kv!.stall();
    const startedAt = server.world.clock.monotonic();
    await one.stop();
    expect(server.world.clock.monotonic() - startedAt).toBe(5_000);
    expect(one.warnings.at(-1)).toContain("releasing the leader lease failed");
    kv!.resume();
  });

  test("that was aborted before it began does nothing", async () => {
    await using server = await startServer();
    const { clock, env } = server.world;
    const onTerm = (): Promise<void> => Promise.reject(new Error("not to be called"));
    const { log, random } = env;
    const client = { resource: () => ({}) } as unknown as Parameters<typeof runLeaderElection>[0]["client"];
    await runLeaderElection({ client, clock, random, log, name: "x", identity: "x", onTerm }, AbortSignal.abort());
    expect((await server.get(LEASE)).status).toBe(404);
  });
});

test.each([
  [{}, []],
  [{ leaseDurationMs: 10_000 }, ["a leader's lease duration must be greater than its renew deadline"]],
  [{ retryPeriodMs: 9_000 }, ["a leader's renew deadline must be greater than 1.2 times its retry period"]],
  [{ retryPeriodMs: 0 }, ["a leader's retry period must be greater than zero"]],
  [{ leaseDurationMs: 3_600_001 }, ["a leader's lease duration must be an hour at most"]],
  [{ leaseDurationMs: Number.NaN }, [expect.anything(), expect.anything()]],
])("leaderTimingErrors checks %j", (timing, errors) => {
  expect(leaderTimingErrors({ ...TIMING, ...timing })).toEqual(errors);
});

test("the default timing is valid", () => {
  expect(leaderTimingErrors(DEFAULT_LEADER_TIMING)).toEqual([]);
});

test("a term ends when the store begins another history, and the server competes again by the lease of that history", async () => {
  await using server = await startServer();
  const epochs = new StoreEpochs();
  await using one = elector(server, "one", { epoch: epochs });
  await server.world.advance(0);
  expect(one.isLeading).toBe(true);
  epochs.advance("test");
  expect(one.isLeading).toBe(false);
  await server.world.advance(0);
  expect(one.terms[0]?.endedAtMs).toBeDefined();
  await server.mergePatch(LEASE, { spec: { holderIdentity: "two", leaseDurationSeconds: 15 } });
  await server.world.advance(10_000);
  expect(one.isLeading).toBe(false);
  await server.world.advance(15_000 + LOOK_MS);
  expect(one.isLeading).toBe(true);
  expect(one.terms).toHaveLength(2);
});
