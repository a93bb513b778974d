import { describe, expect, test } from "vitest";
import { World } from "../../tools/simulator/world.ts";
import { type Kv, StorageError } from "../../storage/kv.ts";
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
    const fenced = fencedKv(kv, fence, "/registry/leases/kube-system/a");
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

function wrapped(kv: Kv): Kv {
  return fencedKv(kv, { hasLapsed: false }, "");
}
