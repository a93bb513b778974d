import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import type { JsonObject } from "../../meta/json.ts";
import { World } from "../../tools/simulator/world.ts";
import { encodeEndpointRecord, endpointRecordKind, type EndpointRecord } from "./endpoint-record.ts";
import { LeasedRecord, type LeasedRecordStore } from "./leased-record.ts";
import { RecordTable } from "./record-table.ts";
import { DEFAULT_PEER_TIMING } from "./timing.ts";

const ROOT = "/registry/";
const KEY = "/registry/peerserverleases/apiserver-a";

function record(id: string, more: Partial<EndpointRecord> = {}): EndpointRecord {
  return {
    id,
    address: { host: "192.0.2.1", port: 6443 },
    generation: 1,
    state: "serving",
    release: "1.36",
    compatibilityVersion: "1.36",
    binaryVersion: "0.3.0",
    incarnation: "one",
    document: "etag-1",
    hasPublishedStorageVersions: true,
    publishedAddress: undefined,
    ...more,
  };
}

function stored(id: string, more: Partial<EndpointRecord> = {}): [string, JsonObject] {
  return [`/registry/peerserverleases/${id}`, encodeEndpointRecord(record(id, more))];
}

/** A store with leases that expire, like etcd. Its watch updates the table at once. */
class FakeStore implements LeasedRecordStore {
  readonly world: World;
  readonly table = new RecordTable(endpointRecordKind(ROOT), SILENT_LOG);
  readonly leases = new Map<string, number>();
  readonly calls: string[] = [];
  readonly values = new Map<string, { value: JsonObject; lease: string }>();
  mode: "works" | "fails" | "hangs" = "works";
  #granted = 0;

  constructor(world: World) {
    this.world = world;
  }

  grantLease(ttlSeconds: number): Promise<string> {
    return this.#reach("grant", () => {
      const lease = `lease-${++this.#granted}`;
      this.leases.set(lease, this.world.clock.monotonic() + ttlSeconds * 1000);
      return lease;
    });
  }

  keepAlive(lease: string): Promise<"alive" | "gone"> {
    return this.#reach("keepAlive", () => {
      if (!this.leases.has(lease)) return "gone";
      this.leases.set(lease, this.world.clock.monotonic() + 15_000);
      return "alive";
    });
  }

  put(write: { key: string; value: JsonObject; lease: string }): Promise<void> {
    return this.#reach("put", () => {
      if (!this.leases.has(write.lease)) throw new Error("no such lease");
      this.values.set(write.key, write);
      this.table.upsert(write.key, write.value);
    });
  }

  revoke(lease: string): Promise<void> {
    return this.#reach("revoke", () => this.#end(lease));
  }

  loseKey(): void {
    this.values.delete(KEY);
    this.table.remove(KEY);
  }

  expire(): void {
    for (const [lease, until] of this.leases) if (until <= this.world.clock.monotonic()) this.#end(lease);
  }

  #end(lease: string): void {
    this.leases.delete(lease);
    for (const [key, value] of this.values) {
      if (value.lease !== lease) continue;
      this.values.delete(key);
      this.table.remove(key);
    }
  }

  async #reach<T>(call: string, work: () => T): Promise<T> {
    this.calls.push(call);
    if (this.mode === "hangs") return new Promise(() => {});
    if (this.mode === "fails") throw new Error("out of reach");
    this.expire();
    return work();
  }
}

class Scene {
  readonly world = new World({ seed: 5 });
  readonly store = new FakeStore(this.world);
  readonly writer: LeasedRecord<Omit<EndpointRecord, "generation">>;
  isOwner = true;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor() {
    const { generation: _generation, ...content } = record("apiserver-a");
    this.writer = new LeasedRecord({
      name: "endpoint record",
      store: this.store,
      key: KEY,
      clock: this.world.clock,
      random: this.world.randomFor("writer"),
      log: SILENT_LOG,
      timing: DEFAULT_PEER_TIMING,
      content,
      encode: (next, generation) => encodeEndpointRecord({ ...next, generation }),
      storedGeneration: () => this.store.table.get("apiserver-a")?.generation,
      isOwner: () => this.isOwner,
    });
  }

  start(): Promise<void> {
    this.#running = this.writer.run(this.#stop.signal);
    return this.world.advance(0);
  }

  get record(): EndpointRecord | undefined {
    this.store.expire();
    return this.store.table.get("apiserver-a");
  }

  count(call: string): number {
    return this.store.calls.filter((made) => made === call).length;
  }

  async crash(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.crash();
  }
}

describe("a leased record", () => {
  test("is written once, and after that only its lease is kept alive", async () => {
    await using scene = new Scene();
    await scene.start();
    expect(scene.record).toEqual(record("apiserver-a"));
    await scene.world.advance(60_000);
    expect(scene.record).toEqual(record("apiserver-a"));
    expect(scene.count("put")).toBe(1);
    expect(scene.count("keepAlive")).toBeGreaterThanOrEqual(12);
    expect(scene.count("keepAlive")).toBeLessThanOrEqual(14);
  });

  test("continues the generation of the previous process", async () => {
    await using scene = new Scene();
    scene.store.table.upsert(...stored("apiserver-a", { generation: 41, incarnation: "zero" }));
    await scene.start();
    expect(scene.record).toEqual(record("apiserver-a", { generation: 42 }));
  });

  test("leaves a record that expires within its TTL if the process crashes", async () => {
    await using scene = new Scene();
    await scene.start();
    await scene.crash();
    await scene.world.advance(14_999);
    expect(scene.record).toBeDefined();
    await scene.world.advance(1);
    expect(scene.record).toBeUndefined();
  });

  test("writes changes at once", async () => {
    await using scene = new Scene();
    await scene.start();
    await scene.world.advance(1_000);
    expect(await scene.world.run(scene.writer.update({ state: "draining" }))).toBe(true);
    expect(scene.world.clock.monotonic()).toBe(1_000);
    expect(scene.record).toEqual(record("apiserver-a", { state: "draining", generation: 2 }));
    expect(await scene.writer.update({ state: "draining" })).toBe(true);
    expect(scene.count("put")).toBe(2);
  });

  test("includes a change that was made before the first write in that write", async () => {
    await using scene = new Scene();
    const updated = scene.writer.update({ document: "etag-2" });
    await scene.start();
    expect(await updated).toBe(true);
    expect(scene.record?.document).toBe("etag-2");
    expect(scene.count("put")).toBe(1);
  });

  test("returns false for a change that the store does not accept in time, and writes it later", async () => {
    await using scene = new Scene();
    await scene.start();
    scene.store.mode = "fails";
    expect(await scene.world.run(scene.writer.update({ document: "etag-2" }))).toBe(false);
    scene.store.mode = "works";
    await scene.world.advance(2_000);
    expect(scene.record?.document).toBe("etag-2");
  });

  test("writes the record again after its lease or the record itself was lost", async () => {
    await using scene = new Scene();
    await scene.start();
    await scene.store.revoke("lease-1");
    await scene.world.advance(5_000);
    expect(scene.record?.generation).toBe(2);
    scene.store.loseKey();
    await scene.world.advance(5_000);
    expect(scene.record?.generation).toBe(3);
  });

  test.each(["fails", "hangs"] as const)("retries while the store %s, until it works", async (mode) => {
    await using scene = new Scene();
    scene.store.mode = mode;
    await scene.start();
    await scene.world.advance(60_000);
    expect(scene.count("grant")).toBeGreaterThanOrEqual(9);
    expect(scene.count("grant")).toBeLessThanOrEqual(121);
    scene.store.mode = "works";
    await scene.world.advance(6_000);
    expect(scene.record).toEqual(record("apiserver-a"));
  });

  test("writes nothing while another process uses its ID, and writes the current content when it owns the ID again", async () => {
    await using scene = new Scene();
    await scene.start();
    scene.isOwner = false;
    await scene.world.advance(5_000);
    scene.store.table.upsert(...stored("apiserver-a", { incarnation: "rival" }));
    const calls = scene.store.calls.length;
    expect(await scene.world.run(scene.writer.update({ document: "etag-2" }))).toBe(false);
    await scene.world.advance(60_000);
    expect(scene.store.calls).toHaveLength(calls);
    scene.isOwner = true;
    await scene.world.advance(5_000);
    expect(scene.record).toMatchObject({ incarnation: "one", document: "etag-2" });
  });

  test("deletes the record on removal, and ignores later changes", async () => {
    await using scene = new Scene();
    await scene.start();
    await scene.world.run(scene.writer.remove());
    expect(scene.record).toBeUndefined();
    expect(await scene.writer.update({ state: "serving", document: "etag-9" })).toBe(false);
    await scene.world.advance(60_000);
    expect(scene.record).toBeUndefined();
    expect(scene.count("put")).toBe(1);
  });

  test("does not delete a record that another process wrote", async () => {
    await using scene = new Scene();
    await scene.start();
    const rival = await scene.store.grantLease(15);
    await scene.store.put({ key: KEY, value: stored("apiserver-a", { incarnation: "rival" })[1], lease: rival });
    await scene.world.run(scene.writer.remove());
    expect(scene.record?.incarnation).toBe("rival");
  });

  test("gives up the removal after a time limit if the store hangs", async () => {
    await using scene = new Scene();
    await scene.start();
    scene.store.mode = "hangs";
    await scene.world.advance(4_900);
    const startedAt = scene.world.clock.monotonic();
    await scene.world.run(scene.writer.remove());
    expect(scene.world.clock.monotonic() - startedAt).toBe(5_000);
  });

  test("writes nothing if it is removed before the first write", async () => {
    await using scene = new Scene();
    await scene.writer.remove();
    await scene.start();
    expect(scene.store.calls).toEqual([]);
  });
});
