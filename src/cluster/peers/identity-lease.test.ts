import { describe, expect, test } from "vitest";
import { FaultyKv } from "../../../test/api/faulty-kv.ts";
import { startServer, type Json, type TestServer } from "../../../test/api/start.ts";
import { type Log, SILENT_LOG } from "../../base/log.ts";
import { createClient } from "../../client/client.ts";
import { IdentityLease, type IdentityLeaseOptions } from "./identity-lease.ts";
import { DEFAULT_PEER_TIMING } from "./timing.ts";

const ID = "apiserver-test";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LEASE = `${LEASES}/${ID}`;

class Process {
  readonly server: TestServer;
  readonly lease: IdentityLease;
  readonly renewals: number[] = [];
  readonly lost: string[] = [];
  readonly errors: string[] = [];
  recordOwner: "this" | "other" | "nobody" = "nobody";
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    server: TestServer,
    incarnation: string,
    { isStarting = false, ...options }: Partial<IdentityLeaseOptions["identity"]> & { isStarting?: boolean } = {},
  ) {
    this.server = server;
    const { clock } = server.world;
    const random = server.world.randomFor(incarnation);
    const log: Log = { ...SILENT_LOG, error: (message) => void this.errors.push(message) };
    this.lease = new IdentityLease({
      client: createClient({ transport: server.server.transport, clock, random }),
      clock,
      random,
      log,
      timing: DEFAULT_PEER_TIMING,
      identity: {
        id: ID,
        incarnation,
        hostname: "host-1",
        peerAddress: "192.0.2.1:6443",
        release: "1.36",
        binaryVersion: "0.3.0",
        compatibilityVersion: "1.35",
        ...options,
      },
      recordOwner: () => this.recordOwner,
      onRenewed: (startedAtMs) => void this.renewals.push(startedAtMs),
      onLost: (because) => void this.lost.push(because),
    });
    if (!isStarting) this.lease.serve();
    this.#running = this.lease.run(this.#stop.signal);
  }

  /** Ends the server without any cleanup, as kill -9 does. */
  async crash(): Promise<void> {
    this.#stop.abort();
    await this.server.world.run(this.#running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.crash();
  }
}

async function stored(server: TestServer): Promise<Json> {
  return (await server.get(LEASE)).body;
}

async function holder(server: TestServer): Promise<string> {
  return (await stored(server)).spec?.holderIdentity;
}

describe("the identity lease", () => {
  test("identifies the server, with the labels of kube-apiserver and with annotations for people", async () => {
    await using server = await startServer();
    await using process = new Process(server, "one");
    await server.world.advance(100);
    expect(process.renewals).toHaveLength(1);
    const { metadata, spec } = await stored(server);
    expect(metadata.labels).toEqual({
      "apiserver.kubernetes.io/identity": "kube-apiserver",
      "kubernetes.io/hostname": "host-1",
    });
    expect(metadata.annotations).toEqual({
      "kubernetes.io/peer-advertise-address": "192.0.2.1:6443",
      "evenkeel.io/release": "1.36",
      "evenkeel.io/binary-version": "0.3.0",
      "evenkeel.io/compatibility-version": "1.35",
    });
    expect(spec).toEqual({
      holderIdentity: `${ID}_one`,
      leaseDurationSeconds: 15,
      renewTime: expect.stringMatching(/^2030-01-01T00:00:\d\d\.\d{6}Z$/),
    });
  });

  test("has no hostname label if the hostname is not a valid label value, and no address if there is none", async () => {
    await using server = await startServer();
    await using process = new Process(server, "one", { hostname: "host_1!", peerAddress: undefined });
    await server.world.advance(100);
    expect(process.renewals).toHaveLength(1);
    const { metadata } = await stored(server);
    expect(metadata.labels).toEqual({ "apiserver.kubernetes.io/identity": "kube-apiserver" });
    expect(metadata.annotations).not.toHaveProperty("kubernetes.io/peer-advertise-address");
  });

  test("is renewed every 3 s or slightly earlier, and each renewal reports when its request was sent", async () => {
    await using server = await startServer();
    const startedAt = server.world.clock.monotonic();
    await using process = new Process(server, "one");
    await server.world.advance(60_000);
    expect(process.renewals[0]).toBe(startedAt);
    expect(process.renewals.length).toBeGreaterThanOrEqual(20);
    expect(process.renewals.length).toBeLessThanOrEqual(24);
    expect(Date.parse((await stored(server)).spec.renewTime)).toBeGreaterThan(server.world.clock.now() - 3_100);
  });

  test("changes its holder at once when the server has its endpoint record, so that kube-apiservers read the record", async () => {
    await using server = await startServer();
    await using process = new Process(server, "one", { isStarting: true });
    await server.world.advance(100);
    expect(await holder(server)).toBe(`${ID}_one_starting`);
    process.lease.serve();
    await server.world.advance(100);
    expect(await holder(server)).toBe(`${ID}_one`);
    expect(process.renewals).toHaveLength(2);
    process.lease.serve();
    await server.world.advance(100);
    expect(process.renewals).toHaveLength(2);
  });

  test("of a starting server is deleted by this server, and is no conflict for it", async () => {
    await using server = await startServer();
    await using process = new Process(server, "one", { isStarting: true });
    await server.world.advance(4_000);
    expect(process.lost).toEqual([]);
    await server.world.run(process.lease.remove());
    expect((await server.get(LEASE)).status).toBe(404);
  });

  test("is taken over by a restarted server in one write, so that no watcher sees a deletion", async () => {
    await using server = await startServer();
    const before = new Process(server, "one");
    await server.world.advance(100);
    await before.crash();
    const watch = await server.watch(`${LEASES}?watch=1&fieldSelector=metadata.name%3D${ID}`);
    await watch.events();
    await using after = new Process(server, "two");
    await server.world.advance(100);
    const events = await watch.events();
    expect(events.map(({ type, object }) => `${type} ${object.spec.holderIdentity}`)).toEqual([`MODIFIED ${ID}_two`]);
    expect(after.lost).toEqual([]);
  });

  test("is created again after a deletion", async () => {
    await using server = await startServer();
    await using process = new Process(server, "one");
    await server.world.advance(100);
    await server.delete(LEASE);
    await server.world.advance(3_000);
    expect(await holder(server)).toBe(`${ID}_one`);
    expect(process.lost).toEqual([]);
  });

  test("is renewed after another client changed it, and keeps metadata that the client added", async () => {
    await using server = await startServer();
    await using process = new Process(server, "one");
    await server.world.advance(100);
    await server.mergePatch(LEASE, { metadata: { labels: { note: "mine" } }, spec: { leaseDurationSeconds: 1 } });
    await server.world.advance(3_000);
    const { metadata, spec } = await stored(server);
    expect(metadata.labels.note).toBe("mine");
    expect(spec.leaseDurationSeconds).toBe(15);
    expect(process.renewals).toHaveLength(2);
  });
});

describe("if the store", () => {
  test("hangs for a while, later renewals are not delayed", async () => {
    const faulty: FaultyKv[] = [];
    await using server = await startServer({ wrapKv: (kv) => (faulty[0] = new FaultyKv(kv)) });
    await using process = new Process(server, "one");
    await server.world.advance(100);
    faulty[0]!.stall();
    await server.world.advance(20_000);
    expect(process.renewals).toHaveLength(1);
    faulty[0]!.resume();
    await server.world.advance(7_000);
    expect(process.renewals.length).toBeGreaterThan(1);
    expect(process.renewals[1]).toBeGreaterThan(process.renewals[0]! + 10_000);
    expect(process.lost).toEqual([]);
  });

  test("fails for a while, the renewal is retried until it succeeds", async () => {
    const faulty: FaultyKv[] = [];
    await using server = await startServer({ wrapKv: (kv) => (faulty[0] = new FaultyKv(kv)) });
    await using process = new Process(server, "one");
    await server.world.advance(100);
    faulty[0]!.setDown(true);
    await server.world.advance(8_000);
    faulty[0]!.setDown(false);
    await server.world.advance(6_000);
    expect(process.renewals.length).toBeGreaterThan(1);
  });
});

describe("on shutdown the server", () => {
  test("deletes the lease", async () => {
    await using server = await startServer();
    await using process = new Process(server, "one");
    await server.world.advance(100);
    await server.world.run(process.lease.remove());
    expect((await server.get(LEASE)).status).toBe(404);
    await server.world.advance(10_000);
    expect((await server.get(LEASE)).status).toBe(404);
  });

  test("deletes the lease even if another client changed it meanwhile", async () => {
    await using server = await startServer();
    await using process = new Process(server, "one");
    await server.world.advance(100);
    await server.mergePatch(LEASE, { metadata: { labels: { note: "mine" } } });
    await server.world.run(process.lease.remove());
    expect((await server.get(LEASE)).status).toBe(404);
  });

  test("does not delete a lease that another process has taken over", async () => {
    await using server = await startServer();
    await using before = new Process(server, "one");
    await server.world.advance(100);
    await using after = new Process(server, "two");
    await server.world.advance(100);
    await server.world.run(before.lease.remove());
    expect(after.renewals).toHaveLength(1);
    expect(await holder(server)).toBe(`${ID}_two`);
  });

  test("stops after a time limit if the store hangs, even while it creates the lease", async () => {
    const faulty: FaultyKv[] = [];
    await using server = await startServer({ wrapKv: (kv) => (faulty[0] = new FaultyKv(kv)) });
    faulty[0]!.stall();
    await using process = new Process(server, "one");
    await server.world.advance(1_000);
    const startedAt = server.world.clock.monotonic();
    await server.world.run(process.lease.remove());
    expect(server.world.clock.monotonic() - startedAt).toBeLessThanOrEqual(3_000);
    faulty[0]!.resume();
  });
});

describe("two processes with one server ID", () => {
  const CONFLICT = `another server uses the server ID ${ID}: set --server-id on one of them`;

  test("do not fight: if neither has an endpoint record, the process that started first stays passive and logs it once", async () => {
    await using server = await startServer();
    await using first = new Process(server, "one");
    await server.world.advance(100);
    await using second = new Process(server, "two");
    await server.world.advance(60_000);
    expect(first.renewals).toHaveLength(1);
    expect(first.lease.conflict).toBe(CONFLICT);
    expect(first.errors).toEqual([CONFLICT]);
    expect(first.lost[0]).toBe(CONFLICT);
    expect(second.lease.conflict).toBeUndefined();
    expect(second.renewals.length).toBeGreaterThanOrEqual(19);
    expect(await holder(server)).toBe(`${ID}_two`);
  });

  test("do not fight: the process with the endpoint record takes its lease back, and the other stays passive", async () => {
    await using server = await startServer();
    await using first = new Process(server, "one");
    first.recordOwner = "this";
    await server.world.advance(100);
    await using second = new Process(server, "two");
    second.recordOwner = "other";
    await server.world.advance(60_000);
    expect(first.lease.conflict).toBeUndefined();
    expect(first.lost).toEqual([]);
    expect(first.renewals.length).toBeGreaterThanOrEqual(19);
    expect(second.renewals).toHaveLength(1);
    expect(second.errors).toEqual([CONFLICT]);
    expect(await holder(server)).toBe(`${ID}_one`);
  });

  test("end with one of them: when the owner deletes its lease, the other takes it at its next check", async () => {
    await using server = await startServer();
    await using first = new Process(server, "one");
    await server.world.advance(100);
    await using second = new Process(server, "two");
    await server.world.advance(10_000);
    await server.world.run(second.lease.remove());
    await server.world.advance(3_000);
    expect(await holder(server)).toBe(`${ID}_one`);
    expect(first.lease.conflict).toBeUndefined();
  });

  test("end with one of them: when the owner crashes, the other takes the lease after its duration, and not earlier", async () => {
    await using server = await startServer();
    await using first = new Process(server, "one");
    await server.world.advance(100);
    const second = new Process(server, "two");
    await server.world.advance(10_000);
    await second.crash();
    await server.world.advance(12_000);
    expect(first.lease.conflict).toBe(CONFLICT);
    await server.world.advance(11_000);
    expect(await holder(server)).toBe(`${ID}_one`);
    expect(first.lease.conflict).toBeUndefined();
  });

  test("are not assumed if an API user changes the holder: the server takes its lease back", async () => {
    await using server = await startServer();
    await using process = new Process(server, "one");
    process.recordOwner = "this";
    await server.world.advance(100);
    await server.mergePatch(LEASE, { spec: { holderIdentity: `${ID}_forged` } });
    await server.world.advance(3_000);
    expect(await holder(server)).toBe(`${ID}_one`);
    expect(process.lost).toEqual([]);
  });
});
