import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeCertificates } from "../../../../test/testing/storage/kv-etcd/certificates.ts";
import { ETCD_MISSING, startEtcd } from "../../../../test/testing/storage/kv-etcd/start-etcd.ts";
import { realClock } from "../../../../test/testing/real-clock.ts";
import { openEtcdKv } from "../../../storage/kv-etcd/kv.ts";
import type { Kv } from "../../../storage/kv.ts";
import { StoredDataError, type StoredItem, type ReadProgress } from "../stored-data.ts";
import { openLiveEtcd } from "./etcd-live.ts";

const etcd = await startEtcd();
if (etcd === undefined) console.warn(ETCD_MISSING);
afterAll(() => etcd?.stop());
const endpoint = etcd?.endpoint ?? "http://127.0.0.1:9";
const KEYS = 1_000;

async function withKeys(prefix: string): Promise<Kv> {
  const kv = await openEtcdKv({ endpoints: [endpoint], clock: realClock() });
  for (let n = 0; n < KEYS; n++)
    await kv.commit({ kind: "put", key: keyOf(prefix, n), value: Buffer.alloc(n * 8, n), expectedRevision: 0 });
  return kv;
}

function keyOf(prefix: string, n: number): string {
  return `${prefix}${String(n).padStart(4, "0")}`;
}

const unaborted = new AbortController().signal;
const quiet = (): void => {};

describe.skipIf(etcd === undefined)("a live etcd as the source of an inspection", () => {
  test("a walk visits every key under the prefix once, at the revision at which the source was opened", async () => {
    const kv = await withKeys("/pinned/");
    const data = await openLiveEtcd({ endpoints: [endpoint], clock: realClock() });
    await kv.commit({ kind: "put", key: "/pinned/late", value: Buffer.from("x"), expectedRevision: 0 });
    await kv.commit({
      kind: "delete",
      key: keyOf("/pinned/", 0),
      expectedRevision: await revisionOf(kv, keyOf("/pinned/", 0)),
    });
    const seen: string[] = [];
    const progress: ReadProgress[] = [];
    const walked = await data.walk(
      { prefix: "/pinned/", signal: unaborted, onProgress: (one) => progress.push(one) },
      ({ key, value, modRevision }: StoredItem) => {
        seen.push(key);
        expect(value.length).toBe(Number(key.slice(-4)) * 8);
        expect(modRevision).toBeLessThanOrEqual(data.revision);
      },
    );
    expect(seen).toEqual(Array.from({ length: KEYS }, (_, n) => keyOf("/pinned/", n)));
    expect(walked.keys).toBe(KEYS);
    expect(progress.at(-1)).toEqual({ done: KEYS, total: KEYS });
    expect(progress.length).toBeGreaterThanOrEqual(2);
    await data.close();
    await kv.close();
  });

  test("a walk of all keys includes keys outside of every known prefix", async () => {
    const kv = await openEtcdKv({ endpoints: [endpoint], clock: realClock() });
    await kv.commit({ kind: "put", key: "zz-elsewhere", value: Buffer.from("x"), expectedRevision: 0 });
    await kv.commit({ kind: "put", key: "/über/all", value: Buffer.from("x"), expectedRevision: 0 });
    const data = await openLiveEtcd({ endpoints: [endpoint], clock: realClock() });
    const seen = new Set<string>();
    await data.walk({ prefix: "", signal: unaborted, onProgress: quiet }, ({ key }) => void seen.add(key));
    expect(seen).toContain("zz-elsewhere");
    expect(seen).toContain("/über/all");
    await data.close();
    await kv.close();
  });

  test("a walk rejects with one sentence if etcd compacts its revision meanwhile", async () => {
    const kv = await withKeys("/compacted/");
    const data = await openLiveEtcd({ endpoints: [endpoint], clock: realClock() });
    await kv.commit({ kind: "put", key: "/compacted/late", value: Buffer.from("x"), expectedRevision: 0 });
    await kv.compact(await kv.currentRevision());
    await expect(data.walk({ prefix: "/compacted/", signal: unaborted, onProgress: quiet }, quiet)).rejects.toThrow(
      /^etcd discarded the revision while it was read \(compaction\): run the command again/,
    );
    await data.close();
    await kv.close();
  });

  test("a walk ends with the reason of the signal", async () => {
    const data = await openLiveEtcd({ endpoints: [endpoint], clock: realClock() });
    const reason = new Error("interrupted");
    const request = { prefix: "", signal: AbortSignal.abort(reason), onProgress: quiet };
    await expect(data.walk(request, quiet)).rejects.toBe(reason);
    await data.close();
  });

  test("an unreachable etcd is reported with its address", { timeout: 30_000 }, async () => {
    const opening = openLiveEtcd({ endpoints: ["http://127.0.0.1:9"], clock: realClock() });
    await expect(opening).rejects.toThrow(
      /^etcd at http:\/\/127\.0\.0\.1:9 cannot be read: etcd is unreachable: 127\.0\.0\.1:9: .*ECONNREFUSED/,
    );
    await expect(opening).rejects.toBeInstanceOf(StoredDataError);
  });

  test("an etcd with TLS is read with a client certificate, and an error names the flag that is missing", async () => {
    const directory = mkdtempSync(join(tmpdir(), "evenkeel-live-"));
    const tls = makeCertificates(directory)!;
    const secured = await startEtcd({ tls });
    const endpoints = [secured!.endpoint];
    const { ca, clientCert: cert, clientKey: key } = tls;
    const data = await openLiveEtcd({ endpoints, clock: realClock(), tls: { ca, cert, key } });
    expect(data.revision).toBeGreaterThan(0);
    await data.close();
    await expect(openLiveEtcd({ endpoints, clock: realClock(), tls: { cert, key } })).rejects.toThrow(
      /--etcd-cafile must name the CA/,
    );
    await secured!.stop();
    rmSync(directory, { recursive: true });
  });
});

async function revisionOf(kv: Kv, key: string): Promise<number> {
  return (await kv.range({ start: key })).items[0]?.modRevision ?? 0;
}
