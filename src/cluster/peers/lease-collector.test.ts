import { describe, expect, test } from "vitest";
import { FaultyKv } from "../../../test/api/faulty-kv.ts";
import { startServer, type Json, type StartOptions, type TestServer } from "../../../test/api/start.ts";
import { sleep, type Clock } from "../../base/clock.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { createClient } from "../../client/client.ts";
import { LeaseCollector } from "./lease-collector.ts";
import { DEFAULT_PEER_TIMING } from "./timing.ts";

const SELF = "test-self";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LABELS = { "apiserver.kubernetes.io/identity": "kube-apiserver" };
const RENEW_MS = 3_000;

/**
 * Starts the server whose API the tested collector calls. The server stores all leases and renews its own. Its built-in
 * collector never runs, so that the tested collector makes every deletion.
 */
function startApi(options: StartOptions = {}): Promise<TestServer> {
  const leaseCollectIntervalMs = 365 * 24 * 3_600_000;
  return startServer({ ...options, peers: { serverId: SELF, timing: { leaseCollectIntervalMs } } });
}

interface LeaseFacts {
  readonly name: string;
  readonly incarnation?: string;
  readonly labels?: Record<string, string>;
  readonly renewTime?: string | undefined;
  readonly durationSeconds?: number | undefined;
}

/** The collector of one server, with the leases of other servers and the endpoint records in the store. */
class Scene {
  readonly server: TestServer;
  readonly collector: LeaseCollector;
  readonly records = new Set<string>();
  readonly told: string[][] = [];
  isWatchAlive = true;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>[] = [];

  constructor(server: TestServer, clock: Clock = server.world.clock) {
    this.server = server;
    const random = server.world.randomFor("collector");
    this.collector = new LeaseCollector({
      client: createClient({ transport: server.server.transport, clock: server.world.clock, random }),
      clock,
      random,
      log: SILENT_LOG,
      selfId: SELF,
      timing: DEFAULT_PEER_TIMING,
      isStoreWatchAlive: () => this.isWatchAlive,
      hasRecord: (id) => this.records.has(id),
    });
    this.collector.onChange(() => void this.told.push(this.known));
  }

  async start(): Promise<void> {
    this.#running.push(this.collector.run(this.#stop.signal));
    await this.server.world.advance(2_000);
  }

  get known(): string[] {
    return this.collector
      .known()
      .map(({ id }) => id)
      .filter((id) => id.startsWith("test-"));
  }

  async put(facts: LeaseFacts, namespace = "kube-system"): Promise<void> {
    const { status } = await this.server.create(LEASES.replace("kube-system", namespace), this.#object(facts));
    if (status !== 201) throw new Error(`the lease request returned ${status}`);
  }

  renew(facts: LeaseFacts): Promise<unknown> {
    const headers = { "content-type": "application/merge-patch+json" };
    return this.server.begin("PATCH", `${LEASES}/${facts.name}`, JSON.stringify(this.#object(facts)), { headers });
  }

  /** Renews the lease until the returned function is called. */
  keepAlive(facts: LeaseFacts, everyMs = RENEW_MS): () => void {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#stop.signal]);
    const run = async (): Promise<void> => {
      while (await sleep(this.server.world.clock, everyMs, signal)) void this.renew(facts).catch(() => {});
    };
    this.#running.push(run());
    return () => stop.abort();
  }

  async stored(): Promise<string[]> {
    const { body } = await this.server.get("/apis/coordination.k8s.io/v1/leases");
    const names: string[] = body.items.map(({ metadata }: Json) => metadata.name);
    return names.filter((name) => name.startsWith("test-") && name !== SELF);
  }

  #object({ name, incarnation = "one", labels = LABELS, ...rest }: LeaseFacts): Json {
    const now = new Date(this.server.world.clock.now()).toISOString().replace("Z", "000Z");
    const renewTime = "renewTime" in rest ? rest.renewTime : now;
    const leaseDurationSeconds = "durationSeconds" in rest ? rest.durationSeconds : 15;
    return {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, labels },
      spec: { holderIdentity: `${name}_${incarnation}`, renewTime, leaseDurationSeconds },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.server.world.run(Promise.all(this.#running));
  }
}

const LONG_AGO = "2029-12-31T00:00:00.000000Z";

describe("leases found at the start", () => {
  test("are deleted if they are not renewed and belong to API servers", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    await scene.put({ name: "test-fresh" });
    await scene.put({ name: "test-expired", renewTime: LONG_AGO });
    await scene.put({ name: "test-never-renewed", renewTime: undefined });
    await scene.put({ name: "test-without-duration", durationSeconds: undefined });
    await scene.put({ name: "test-unlabelled", renewTime: LONG_AGO, labels: {} });
    await scene.put({ name: "test-kubelet", renewTime: LONG_AGO, labels: { "k8s.io/component": "kubelet" } });
    await scene.put({ name: "test-elsewhere", renewTime: LONG_AGO }, "default");
    await scene.start();
    await server.world.advance(1_000);
    expect(scene.known).toEqual(["test-expired", "test-fresh"]);
    expect(scene.collector.hasSynced).toBe(true);
    await server.world.advance(20_000);
    expect(scene.known).toEqual([]);
    expect(await scene.stored()).toEqual(["test-elsewhere", "test-kubelet", "test-unlabelled"]);
  });

  test("count as live until their duration has passed without a renewal, even if their renewTime is long past", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    await scene.put({ name: "test-a", renewTime: LONG_AGO });
    await scene.start();
    await server.world.advance(12_000);
    expect(scene.known).toEqual(["test-a"]);
    expect(await scene.stored()).toEqual(["test-a"]);
    await server.world.advance(8_000);
    expect(scene.known).toEqual([]);
    expect(await scene.stored()).toEqual([]);
  });
});

describe("a server", () => {
  test("is known as soon as its lease is seen, and a new incarnation is reported as a change", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    await scene.start();
    await scene.put({ name: "test-a" });
    await server.world.advance(0);
    expect(scene.collector.known()).toEqual([
      {
        id: "test-a",
        component: "kube-apiserver",
        holderIdentity: "test-a_one",
        incarnation: "one",
        lastChangeSeenMs: server.world.clock.monotonic(),
      },
    ]);
    await scene.renew({ name: "test-a" });
    await server.world.advance(0);
    expect(scene.told).toEqual([["test-a"]]);
    await scene.renew({ name: "test-a", incarnation: "two" });
    await server.world.advance(0);
    expect(scene.told).toEqual([["test-a"], ["test-a"]]);
    expect(scene.collector.known()[0]?.incarnation).toBe("two");
    await server.delete(`${LEASES}/test-a`);
    await server.world.advance(0);
    expect(scene.told.at(-1)).toEqual([]);
  });

  test("of another component is listed separately, and its lease expires and is deleted in the same way", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    await scene.start();
    const other = { name: "test-w", labels: { "apiserver.kubernetes.io/identity": "wardle-apiserver" } };
    const others = (): string[] => scene.collector.otherComponents().map(({ id, component }) => `${component} ${id}`);
    await scene.put(other);
    const stop = scene.keepAlive(other);
    await server.world.advance(60_000);
    expect([others(), scene.known]).toEqual([["wardle-apiserver test-w"], []]);
    stop();
    await server.world.advance(20_000);
    expect([others(), await scene.stored()]).toEqual([[], []]);
  });

  test("that crashed is removed after 15 to 20 s, and its lease is deleted", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    scene.records.add("test-a");
    await scene.start();
    await scene.put({ name: "test-a" });
    const crash = scene.keepAlive({ name: "test-a" });
    await server.world.advance(60_000);
    expect(scene.known).toEqual(["test-a"]);
    crash();
    const lastRenewal = scene.collector.known()[0]!.lastChangeSeenMs;
    await server.world.advance(lastRenewal + 15_000 - server.world.clock.monotonic());
    expect(scene.known).toEqual(["test-a"]);
    await server.world.advance(5_000);
    expect(scene.known).toEqual([]);
    expect(await scene.stored()).toEqual([]);
  });

  test("of Kubernetes, whose lease lasts an hour, is removed soon after its endpoint record is gone", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    scene.records.add("test-kube");
    await scene.start();
    await scene.put({ name: "test-kube", durationSeconds: 3600 });
    const crash = scene.keepAlive({ name: "test-kube", durationSeconds: 3600 }, 10_000);
    await server.world.advance(120_000);
    expect(scene.known).toEqual(["test-kube"]);
    crash();
    await server.world.advance(120_000);
    expect(scene.known).toEqual(["test-kube"]);
    scene.records.delete("test-kube");
    await server.world.advance(2_000);
    expect(scene.known).toEqual([]);
    expect(await scene.stored()).toEqual([]);
  });

  test("whose clock is a day behind or ahead is treated like any other server", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    await scene.start();
    for (const [name, renewTime] of [
      ["test-behind", LONG_AGO],
      ["test-ahead", "2030-01-02T00:00:00.000000Z"],
    ] as const) {
      scene.records.add(name);
      await scene.put({ name, renewTime });
      let at = 0;
      const run = async (): Promise<void> => {
        while (at++ < 20 && (await sleep(server.world.clock, RENEW_MS)))
          await scene.renew({ name, renewTime: renewTime.replace("00.000", `${String(at).padStart(2, "0")}.000`) });
      };
      void run();
    }
    await server.world.advance(60_000);
    expect(scene.known).toEqual(["test-ahead", "test-behind"]);
    await server.world.advance(20_000);
    expect(scene.known).toEqual([]);
  });
});

describe("the time until a lease expires does not run", () => {
  test("while the store watch is down", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    await scene.start();
    scene.records.add("test-a");
    await scene.put({ name: "test-a" });
    await server.world.advance(10_000);
    scene.isWatchAlive = false;
    await server.world.advance(600_000);
    expect(scene.known).toEqual(["test-a"]);
    scene.isWatchAlive = true;
    await server.world.advance(4_000);
    expect(scene.known).toEqual(["test-a"]);
    await server.world.advance(5_000);
    expect(scene.known).toEqual([]);
  });

  test("while the store accepts no writes, so that no server can renew its lease, although the watch works", async () => {
    const faulty: FaultyKv[] = [];
    await using server = await startApi({ wrapKv: (kv) => (faulty[0] = new FaultyKv(kv)) });
    await using scene = new Scene(server);
    scene.records.add("test-a");
    await scene.start();
    await scene.put({ name: "test-a" });
    scene.keepAlive({ name: "test-a" });
    await server.world.advance(10_000);
    faulty[0]!.setDown(true);
    await server.world.advance(120_000);
    expect(scene.known).toEqual(["test-a"]);
    faulty[0]!.setDown(false);
    await server.world.advance(60_000);
    expect(scene.known).toEqual(["test-a"]);
    expect(await scene.stored()).toEqual(["test-a"]);
    expect(scene.told).toEqual([["test-a"]]);
  });

  test("while this process is paused", async () => {
    await using server = await startApi();
    let jumpMs = 0;
    const { clock } = server.world;
    await using scene = new Scene(server, { ...clock, monotonic: () => clock.monotonic() + jumpMs });
    scene.records.add("test-a");
    await scene.start();
    await scene.put({ name: "test-a" });
    scene.keepAlive({ name: "test-a" });
    await server.world.advance(10_000);
    jumpMs = 60_000;
    await server.world.advance(10_000);
    expect(scene.told).toEqual([["test-a"]]);
  });
});

describe("a lease that is renewed at the last moment", () => {
  test("is not deleted, and its server is known again", async () => {
    const faulty: FaultyKv[] = [];
    await using server = await startApi({ wrapKv: (kv) => (faulty[0] = new FaultyKv(kv)) });
    await using scene = new Scene(server);
    scene.records.add("test-a");
    await scene.start();
    await scene.put({ name: "test-a" });
    await server.world.advance(12_000);
    // The renewal is stored, but its watch event has not reached this server yet.
    faulty[0]!.setLagging(true);
    const renewed = scene.renew({ name: "test-a" });
    await server.world.advance(6_500);
    expect(await scene.stored()).toEqual(["test-a"]);
    faulty[0]!.setLagging(false);
    await server.world.run(renewed);
    await server.world.advance(1_000);
    expect(scene.known).toEqual(["test-a"]);
  });
});

describe("a lease of a server that does not exist", () => {
  test("counts as a server while a client renews it, because some servers write no endpoint record", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    await scene.start();
    await scene.put({ name: "test-planted" });
    const leave = scene.keepAlive({ name: "test-planted" });
    await server.world.advance(120_000);
    expect(scene.known).toEqual(["test-planted"]);
    leave();
    await server.world.advance(20_000);
    expect(scene.known).toEqual([]);
    expect(await scene.stored()).toEqual([]);
  });

  test("that no client renews is deleted after 30 s, even if its duration is longer", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    await scene.start();
    await scene.put({ name: "test-planted", durationSeconds: 3600 });
    await server.world.advance(25_000);
    expect(scene.known).toEqual(["test-planted"]);
    await server.world.advance(10_000);
    expect(scene.known).toEqual([]);
    expect(await scene.stored()).toEqual([]);
  });

  test("with the ID of the local server does not count as another server, and is not deleted", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    await scene.start();
    await server.world.advance(60_000);
    expect(scene.known).toEqual([]);
    expect((await server.get(`${LEASES}/${SELF}`)).status).toBe(200);
  });

  test("beyond the limit does not replace the lease of a server with an endpoint record", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    for (let index = 0; index < 1_005; index++)
      await scene.put({ name: `test-${1000 + index}`, durationSeconds: 3600 });
    scene.records.add("test-real");
    await scene.put({ name: "test-real" });
    scene.keepAlive({ name: "test-real" });
    await scene.start();
    expect(scene.known).toHaveLength(1_001);
    expect(scene.known).toContain("test-real");
    await server.world.advance(180_000);
    expect(scene.known).toEqual(["test-real"]);
    expect(await scene.stored()).toEqual(["test-real"]);
  });
});

describe("listeners", () => {
  test("are called although another one throws, and not after they are removed", async () => {
    await using server = await startApi();
    await using scene = new Scene(server);
    const reported: string[] = [];
    scene.collector.onChange(() => {
      throw new Error("no");
    });
    const leave = scene.collector.onChange(() => void reported.push("told"));
    await scene.start();
    await scene.put({ name: "test-a" });
    await server.world.advance(0);
    leave();
    await scene.put({ name: "test-b" });
    await server.world.advance(0);
    expect(reported).toEqual(["told"]);
    expect(scene.known).toEqual(["test-a", "test-b"]);
  });
});
