/** Compares what the reader finds in the database of a real etcd with what this etcd returned to a client. */
import { afterAll, describe, expect, test } from "vitest";
import { readAll } from "../../../test/testing/storage/etcd-file/read-all.ts";
import { ETCD_MISSING, startEtcd } from "../../../test/testing/storage/kv-etcd/start-etcd.ts";
import { realClock } from "../../../test/testing/real-clock.ts";
import { openEtcdKv } from "../kv-etcd/kv.ts";
import type { Change, Kv, KeyValue } from "../kv.ts";

const etcd = await startEtcd();
if (etcd === undefined) console.warn(ETCD_MISSING);
afterAll(() => etcd?.stop());

const KEYS = 3_000;
const AT_ONCE = 200;

const keyOf = (index: number): string => `/registry/configmaps/shop/${String(index).padStart(6, "0")}`;

async function commitAll(kv: Kv, changes: readonly Change[]): Promise<void> {
  for (let at = 0; at < changes.length; at += AT_ONCE) {
    const results = await Promise.all(changes.slice(at, at + AT_ONCE).map((change) => kv.commit(change)));
    expect(results.filter(({ committed }) => !committed)).toEqual([]);
  }
}

async function itemsOf(kv: Kv): Promise<readonly KeyValue[]> {
  return (await kv.range({ start: "/registry/", end: "/registry0" })).items;
}

/** Writes, changes, deletes and writes again, with values of up to several pages. */
async function churn(kv: Kv): Promise<void> {
  const revisions = async (): Promise<Map<string, number>> =>
    new Map((await itemsOf(kv)).map(({ key, modRevision }) => [key, modRevision]));
  const put = (index: number, value: Buffer, known: ReadonlyMap<string, number>): Change => {
    const key = keyOf(index);
    return { kind: "put", key, value, expectedRevision: known.get(key) ?? 0 };
  };
  const every = (step: number): number[] => Array.from({ length: Math.ceil(KEYS / step) }, (_, index) => index * step);
  await commitAll(
    kv,
    every(1).map((index) => put(index, Buffer.alloc(index * 7, index), new Map())),
  );
  const first = await revisions();
  await commitAll(
    kv,
    every(2).map((index) => put(index, Buffer.from(`changed ${index}`), first)),
  );
  await kv.compact(await kv.currentRevision());
  const second = await revisions();
  await commitAll(
    kv,
    every(3).map((index) => ({ kind: "delete", key: keyOf(index), expectedRevision: second.get(keyOf(index))! })),
  );
  await commitAll(
    kv,
    every(9).map((index) => put(index, Buffer.from(`again ${index}`), new Map())),
  );
}

describe.skipIf(etcd === undefined)("the database of a real etcd", () => {
  test("has the keys, values and revisions that etcd returned", { timeout: 60_000 }, async () => {
    const kv = await openEtcdKv({ endpoints: [etcd!.endpoint], clock: realClock() });
    await churn(kv);
    const items = await itemsOf(kv);
    const revision = await kv.currentRevision();
    await kv.close();
    await etcd!.terminate();
    const read = await readAll(etcd!.databaseFile, "/registry/");
    expect(items.length).toBeGreaterThan(KEYS / 2);
    expect(read).toMatchObject({ revision, isHashed: false, mayMissTransaction: false });
    expect(read.walked.keys).toBe(items.length);
    for (const { key, value, createRevision, modRevision } of items) {
      const found = read.keys.get(key);
      expect({ key, createRevision: found?.createRevision, modRevision: found?.modRevision }).toEqual({
        key,
        createRevision,
        modRevision,
      });
      expect(found!.value.equals(value)).toBe(true);
    }
  });
});
