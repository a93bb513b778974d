import { describe, expect, test } from "vitest";
import { StorageError, type Kv, type RangeRequest } from "../../storage/kv.ts";
import { json, plantedStore, walking } from "../../../test/testing/cluster/inspect/planted-store.ts";
import { walkStore } from "./walk-store.ts";

function numbered(count: number, value: Buffer = json("v1")): Record<string, Buffer> {
  const names = Array.from({ length: count }, (_, index) => String(index).padStart(5, "0"));
  return Object.fromEntries(names.map((name) => [`pods/default/${name}`, value]));
}

/** Reads the store and records the requests. */
function noting(kv: Kv): Pick<Kv, "range"> & { readonly asked: RangeRequest[] } {
  const asked: RangeRequest[] = [];
  return { asked, range: (request) => (asked.push(request), kv.range(request)) };
}

describe("a walk", () => {
  test("sees every key once, in order, and reports its progress", async () => {
    const kv = await plantedStore(numbered(1_234));
    const options = walking(kv);
    const seen: string[] = [];
    const walked = await walkStore(options, ({ key }) => void seen.push(key));
    expect(seen).toEqual(
      Object.keys(numbered(1_234))
        .map((key) => `/registry/${key}`)
        .toSorted(),
    );
    expect(walked).toMatchObject({ keys: 1_234, isSnapshot: true });
    expect(options.progress[0]).toEqual({ done: 0, total: 1_234 });
    expect(options.progress.at(-1)).toEqual({ done: 1_234, total: 1_234 });
  });

  test("reads few keys at a time, and fewer if their values are large", async () => {
    const small = noting(await plantedStore(numbered(2_000)));
    await walkStore(walking(small), () => {});
    expect(Math.max(...small.asked.map(({ limit = 0 }) => limit))).toBe(500);
    const large = noting(await plantedStore(numbered(120, Buffer.alloc(512 * 1024))));
    await walkStore(walking(large), () => {});
    expect(large.asked.map(({ limit }) => limit)).toEqual([undefined, 100, 8, 8, 8]);
  });

  test("of an empty store, or of a store with keys only outside the root, sees nothing", async () => {
    const kv = await plantedStore({});
    await kv.commit({ kind: "put", key: "/registryx/pods/a/b", value: json("v1"), expectedRevision: 0 });
    await kv.commit({ kind: "put", key: "compact_rev_key", value: json("v1"), expectedRevision: 0 });
    expect(await walkStore(walking(kv), () => expect.unreachable())).toMatchObject({ keys: 0 });
  });

  test("does not see concurrent writes", async () => {
    const kv = await plantedStore(numbered(300));
    let isFirst = true;
    const walked = await walkStore(walking(kv), () => {
      if (isFirst) void kv.commit({ kind: "put", key: "/registry/zebras/z", value: json("v1"), expectedRevision: 0 });
      isFirst = false;
    });
    expect(walked).toMatchObject({ keys: 300, isSnapshot: true });
  });

  test("continues at the newest revision if its own revision is compacted, and reports that it did", async () => {
    const kv = await plantedStore(numbered(300));
    let asked = 0;
    const range: Kv["range"] = async (request) => {
      if (++asked === 3) {
        const put = { kind: "put", key: "/registry/zebras/z", value: json("v1"), expectedRevision: 0 } as const;
        await kv.compact((await kv.commit(put)).revision);
      }
      return kv.range(request);
    };
    const walked = await walkStore(walking({ range }), () => {});
    expect(walked).toMatchObject({ keys: 301, isSnapshot: false });
  });

  test("ends when it is aborted", async () => {
    const abort = new AbortController();
    const kv = noting(await plantedStore(numbered(300)));
    const walk = walkStore({ ...walking(kv), signal: abort.signal }, () => abort.abort(new Error("enough")));
    await expect(walk).rejects.toThrow("enough");
    expect(kv.asked).toHaveLength(2);
  });

  test("fails if the store fails", async () => {
    const range = (): Promise<never> => Promise.reject(new StorageError("unavailable", "gone"));
    await expect(walkStore(walking({ range }), () => {})).rejects.toThrow("gone");
  });
});
