import { describe, expect, test } from "vitest";
import { put } from "../../test/testing/storage/conformance/kv-fixture.ts";
import { createManualClock } from "../../test/testing/storage/conformance/manual-clock.ts";
import { StoreEpochs } from "../base/store-epoch.ts";
import { createMemoryKv } from "./kv-memory/kv.ts";
import { StorageError, type Kv } from "./kv.ts";
import { overlaidKv } from "./overlaid-kv.ts";
import { createLeasePool, type LeasePool } from "./lease-pool.ts";

function open(): { pool: LeasePool; kv: Kv; grants: number[]; advance: (ms: number) => void; failNext: () => void } {
  const clock = createManualClock();
  const memory = createMemoryKv({ clock });
  const grants: number[] = [];
  let isFailing = false;
  const kv = overlaidKv(memory, {
    leaseGrant: (ttlSeconds) => {
      grants.push(ttlSeconds);
      if (!isFailing) return memory.leaseGrant(ttlSeconds);
      isFailing = false;
      return Promise.reject(new StorageError("unavailable", "the store is unreachable"));
    },
  });
  return {
    pool: createLeasePool(kv, clock),
    kv,
    grants,
    advance: (ms) => clock.advance(ms),
    failNext: () => void (isFailing = true),
  };
}

describe("a lease pool", () => {
  test("returns the same lease for objects written close together", async () => {
    const { pool, grants, advance } = open();
    const first = await pool.leaseFor(3600);
    advance(59_999);
    expect(await pool.leaseFor(3600)).toBe(first);
    advance(1);
    expect(await pool.leaseFor(3600)).not.toBe(first);
    expect(grants).toEqual([3660, 3660]);
  });

  test("uses different leases for different TTLs", async () => {
    const { pool, grants } = open();
    expect(await pool.leaseFor(60)).not.toBe(await pool.leaseFor(120));
    expect(grants).toEqual([63, 126]);
  });

  test("keeps an object for at least its TTL, even on a reused lease", async () => {
    const { pool, kv, advance } = open();
    await pool.leaseFor(100);
    advance(4_999);
    const lease = await pool.leaseFor(100);
    await put(kv, { key: "/registry/events/a/x", value: "x", expectedRevision: 0, lease });
    advance(100_000);
    expect((await kv.range({ start: "/registry/events/a/x" })).items).toHaveLength(1);
    advance(5_001);
    expect((await kv.range({ start: "/registry/events/a/x" })).items).toHaveLength(0);
  });

  test("limits the number of objects per lease", async () => {
    const { pool, grants } = open();
    const leases = await Promise.all(Array.from({ length: 1_001 }, () => pool.leaseFor(3600)));
    expect(new Set(leases).size).toBe(2);
    expect(grants).toHaveLength(2);
  });

  test("grants a new lease after a grant failed", async () => {
    const { pool, failNext } = open();
    failNext();
    await expect(pool.leaseFor(3600)).rejects.toMatchObject({ code: "unavailable" });
    expect(await pool.leaseFor(3600)).toBeTypeOf("string");
  });

  test.each([0, -1, Number.NaN])("rejects a TTL of %d", async (ttlSeconds) => {
    const { pool, grants } = open();
    await expect(pool.leaseFor(ttlSeconds)).rejects.toBeInstanceOf(StorageError);
    expect(grants).toEqual([]);
  });

  test("are not reused after the history of the store has changed, because the store may not have them", async () => {
    const clock = createManualClock();
    const epochs = new StoreEpochs();
    const pool = createLeasePool(createMemoryKv({ clock }), clock, epochs);
    const before = await pool.leaseFor(3_600);
    expect(await pool.leaseFor(3_600)).toBe(before);
    epochs.advance("test");
    expect(await pool.leaseFor(3_600)).not.toBe(before);
  });
});
