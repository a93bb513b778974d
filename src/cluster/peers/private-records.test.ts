import { describe, expect, test } from "vitest";
import { World } from "../../tools/simulator/world.ts";
import { type KeyValue, type Kv, StorageError } from "../../storage/kv.ts";
import { WatchCache } from "../../storage/watch-cache/cache.ts";
import { leasedRecordStore, fencedKv } from "./private-records.ts";

const KEY = "/registry/peerserverleases/a";
const { signal } = new AbortController();

function put(key: string, expectedRevision = 0): Parameters<Kv["commit"]>[0] {
  return { kind: "put", key, value: Buffer.from("{}"), expectedRevision };
}

describe("the store of endpoint records", () => {
  /** Opens the store with an empty cache, as at the start of a server. */
  function open(world: World, kv: Kv = world.openKv()): ReturnType<typeof leasedRecordStore> {
    return leasedRecordStore(kv, new WatchCache({ kv, clock: world.clock, root: "/registry/" }));
  }

  test("overwrites any record, and attaches it to the given lease", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    await kv.commit(put(KEY));
    const store = open(world);
    const lease = await store.grantLease(15, signal);
    await store.put({ key: KEY, value: { kind: "x" }, lease }, signal);
    const { items } = await kv.range({ start: KEY });
    expect(JSON.parse(items[0]!.value.toString())).toEqual({ kind: "x" });
    expect(await store.keepAlive(lease, signal)).toBe("alive");
    await store.revoke(lease, signal);
    expect((await kv.range({ start: KEY })).items).toEqual([]);
    expect(await store.keepAlive(lease, signal)).toBe("gone");
  });

  test("gives up on a record that changes faster than it can be written, and writes nothing after an abort", async () => {
    const world = new World({ seed: 1 });
    const kv = world.openKv();
    let commits = 0;
    const racing: Kv = {
      ...wrapped(kv),
      commit: async () => {
        commits++;
        return { committed: false, current: undefined } as never;
      },
    };
    const store = open(world, racing);
    await expect(store.put({ key: KEY, value: {}, lease: "1" }, signal)).rejects.toThrow("changes faster");
    expect(commits).toBe(5);
    await expect(store.put({ key: KEY, value: {}, lease: "1" }, AbortSignal.abort())).rejects.toThrow();
    expect(commits).toBe(5);
  });

  test("distinguishes an unreachable store from an expired lease", async () => {
    const world = new World({ seed: 1 });
    const kv: Kv = {
      ...wrapped(world.openKv()),
      leaseKeepAlive: () => Promise.reject(new StorageError("unavailable", "no")),
    };
    await expect(open(world, kv).keepAlive("1", signal)).rejects.toThrow(StorageError);
  });
});

describe("a store behind the fence", () => {
  test("accepts only writes of the server's own lease while the fence has lapsed, and all writes before and after that", async () => {
    const kv = new World({ seed: 1 }).openKv();
    const fence = { hasLapsed: false };
    const fenced = fencedKv(kv, { fence, ownLeaseKey: "/registry/leases/kube-system/a" });
    expect(await fenced.commit(put("/registry/pods/a"))).toMatchObject({ committed: true });
    fence.hasLapsed = true;
    await expect(fenced.commit(put("/registry/pods/b"))).rejects.toMatchObject({ code: "unavailable" });
    await expect(fenced.commit({ kind: "delete", key: "/registry/pods/a", expectedRevision: 2 })).rejects.toThrow(
      StorageError,
    );
    await expect(fenced.commit(put("/registry/leases/kube-system/ab"))).rejects.toThrow(StorageError);
    expect(await fenced.commit(put("/registry/leases/kube-system/a"))).toMatchObject({ committed: true });
    expect((await fenced.range({ start: "/registry/pods/a" })).items).toHaveLength(1);
    fence.hasLapsed = false;
    expect(await fenced.commit(put("/registry/pods/b"))).toMatchObject({ committed: true });
  });
});

describe("a delete behind the fence", () => {
  const fence = { hasLapsed: false };
  const POD = "/registry/pods/a";

  /** Opens a store with a pod, for a server that knows the record that the test sets. */
  async function setUp(): Promise<{ kv: Kv; fenced: Kv; know: () => Promise<void>; remove: () => Promise<unknown> }> {
    const kv = new World({ seed: 1 }).openKv();
    let record: KeyValue | undefined;
    const ownRecord = { key: KEY, known: () => record };
    const fenced = fencedKv(kv, { fence, ownLeaseKey: "/registry/leases/kube-system/a", ownRecord });
    await kv.commit(put(POD));
    const [pod] = (await kv.range({ start: POD })).items;
    return {
      kv,
      fenced,
      know: async () => void ([record] = (await kv.range({ start: KEY })).items),
      remove: () =>
        fenced
          .commit({ kind: "delete", key: POD, expectedRevision: pod!.modRevision })
          .then(({ committed }) => committed)
          .catch((thrown: unknown) => (thrown instanceof StorageError ? `${thrown.code}: ${thrown.message}` : thrown)),
    };
  }
  const expired = expect.stringMatching(/^unavailable: the endpoint record of this server has expired/);

  test("is committed while the server has never had an endpoint record", async () => {
    const { remove } = await setUp();
    expect(await remove()).toBe(true);
  });

  test.each(["before", "after"])("deletes nothing if the record has expired %s the server notices", async (when) => {
    const { kv, remove, know } = await setUp();
    const { revision } = await kv.commit(put(KEY));
    await know();
    expect(await kv.commit({ kind: "delete", key: KEY, expectedRevision: revision })).toMatchObject({
      committed: true,
    });
    if (when === "after") {
      // The server has used its record once, and has then seen that the record is gone.
      expect(await remove()).toEqual(expired);
      await know();
    }
    expect(await remove()).toEqual(expired);
    expect((await kv.range({ start: POD })).count).toBe(1);
  });

  test("deletes nothing if the record has expired and was written again before the server notices", async () => {
    const { kv, remove, know } = await setUp();
    const { revision } = await kv.commit(put(KEY));
    await know();
    await kv.commit({ kind: "delete", key: KEY, expectedRevision: revision });
    await kv.commit(put(KEY));
    expect(await remove()).toEqual(expired);
    await know();
    expect(await remove()).toBe(true);
  });

  test("is committed if the record was changed but has not expired", async () => {
    const { kv, remove, know } = await setUp();
    const { revision } = await kv.commit(put(KEY));
    await know();
    await kv.commit(put(KEY, revision));
    expect(await remove()).toBe(true);
  });

  test("of the server's own lease does not need the record", async () => {
    const { kv, fenced, know } = await setUp();
    const { revision } = await kv.commit(put(KEY));
    await know();
    await kv.commit({ kind: "delete", key: KEY, expectedRevision: revision });
    const key = "/registry/leases/kube-system/a";
    const created = await kv.commit(put(key));
    const removal = { kind: "delete", key, expectedRevision: created.revision } as const;
    expect(await fenced.commit(removal)).toMatchObject({ committed: true });
  });
});

function wrapped(kv: Kv): Kv {
  return fencedKv(kv, { fence: { hasLapsed: false }, ownLeaseKey: "" });
}
