import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { kvSuite } from "../../../test/testing/storage/conformance/kv-suite.ts";
import type { Kv } from "../kv.ts";
import { openEtcdKv } from "./kv.ts";
import { makeCertificates } from "../../../test/testing/storage/kv-etcd/certificates.ts";
import { realClock } from "../../../test/testing/real-clock.ts";
import { RecordingSink } from "../../../test/testing/storage/kv-etcd/recording-sink.ts";
import { ETCD_MISSING, startEtcd } from "../../../test/testing/storage/kv-etcd/start-etcd.ts";

const etcd = await startEtcd();
if (etcd === undefined) console.warn(ETCD_MISSING);
afterAll(() => etcd?.stop());

const endpoint = etcd?.endpoint ?? "http://127.0.0.1:9";
const open = (): Promise<Kv> => openEtcdKv({ endpoints: [endpoint], clock: realClock() });

async function opened(): Promise<{ kv: Kv } & AsyncDisposable> {
  const kv = await open();
  return { kv, [Symbol.asyncDispose]: () => kv.close() };
}

async function fixture(): Promise<{ kv: Kv; reopen: () => Promise<Kv> } & AsyncDisposable> {
  const handles = [await open()];
  const reopen = async (): Promise<Kv> => {
    const kv = await open();
    handles.push(kv);
    return kv;
  };
  const dispose = async (): Promise<void> => {
    for (const kv of handles) await kv.close();
  };
  return { kv: handles[0]!, reopen, [Symbol.asyncDispose]: dispose };
}

describe.skipIf(etcd === undefined)("on a real etcd,", () => {
  kvSuite("etcd", fixture, { isExclusive: true });

  test("a range of 20,000 keys is read in pages at one revision", { timeout: 60_000 }, async () => {
    await using store = await opened();
    const { kv } = store;
    const keys = Array.from({ length: 20_000 }, (_, index) => `/many/${String(index).padStart(6, "0")}`);
    for (let at = 0; at < keys.length; at += 1_000) {
      const puts = keys
        .slice(at, at + 1_000)
        .map((key) => kv.commit({ kind: "put", key, value: Buffer.from(key), expectedRevision: 0 }));
      await Promise.all(puts);
    }
    // Writes continuously to the keys at the end of the range, which are read last.
    let isReading = true;
    const writing = (async () => {
      for (let n = 0; isReading; n++)
        await kv.commit({ kind: "put", key: `/many/9-${n}`, value: Buffer.from("late"), expectedRevision: 0 });
    })();
    const { items, count, revision } = await kv.range({ start: "/many/", end: "/many0" });
    isReading = false;
    await writing;
    expect(items).toHaveLength(count);
    expect(items.every((item) => item.modRevision <= revision)).toBe(true);
    expect(items.slice(0, keys.length).map((item) => item.key)).toEqual(keys);
    const limited = await kv.range({ start: "/many/", end: "/many0", limit: 1_234 });
    expect(limited.items.map((item) => item.key)).toEqual(keys.slice(0, 1_234));
    expect(limited.count).toBeGreaterThan(count);
  });

  test("large values are read in pages that fit the message size limit", { timeout: 60_000 }, async () => {
    await using store = await opened();
    const { kv } = store;
    const value = Buffer.alloc(1_400_000, "x");
    for (let index = 0; index < 60; index++) {
      await kv.commit({ kind: "put", key: `/big/${String(index).padStart(3, "0")}`, value, expectedRevision: 0 });
    }
    const { items } = await kv.range({ start: "/big/", end: "/big0" });
    expect(items).toHaveLength(60);
    expect(items.every((item) => item.value.equals(value))).toBe(true);
    const sink = new RecordingSink();
    kv.watch({ prefix: "/big/", fromRevision: items[0]!.modRevision }, sink);
    await sink.until(({ seen }) => seen.length >= 60);
    expect(sink.seen.map((event) => event.modRevision)).toEqual(items.map((item) => item.modRevision));
  });

  test("a watch of the empty prefix receives every key, and a range with an empty start reads every key", async () => {
    await using store = await opened();
    const { kv } = store;
    const sink = new RecordingSink();
    const fromRevision = (await kv.currentRevision()) + 1;
    kv.watch({ prefix: "", fromRevision }, sink);
    await kv.commit({ kind: "put", key: "!first", value: Buffer.from("x"), expectedRevision: 0 });
    await sink.until(({ seen }) => seen.length === 1);
    expect((await kv.range({ start: "", end: "~", limit: 1 })).items[0]?.key).toBe("!first");
  });

  test("a malformed lease ID is treated as the ID of a lease that does not exist", async () => {
    await using store = await opened();
    for (const lease of ["", "0", "-1", "abc", "9223372036854775808", "99999999999999999999999"]) {
      const put = store.kv.commit({ kind: "put", key: "/leased", value: Buffer.from("x"), expectedRevision: 0, lease });
      await expect(put).rejects.toMatchObject({ code: "lease-not-found" });
      await expect(store.kv.leaseKeepAlive(lease)).rejects.toMatchObject({ code: "lease-not-found" });
      await store.kv.leaseRevoke(lease);
    }
  });

  test("reading a future revision fails with an error that contains the newest revision", async () => {
    await using store = await opened();
    const newest = await store.kv.currentRevision();
    const future = { code: "revision-future", revision: newest };
    await expect(store.kv.range({ start: "/", end: "0", revision: newest + 1_000 })).rejects.toMatchObject(future);
    await expect(store.kv.compact(newest + 1_000)).rejects.toMatchObject(future);
  });
});

describe.skipIf(etcd === undefined)("etcd's own progress notifications", () => {
  test("reach a watch that sees no events", { timeout: 30_000 }, async () => {
    const notifying = await startEtcd({ extraArguments: ["--experimental-watch-progress-notify-interval=200ms"] });
    const kv = await openEtcdKv({ endpoints: [notifying!.endpoint], clock: realClock() });
    try {
      const elsewhere = await kv.commit({
        kind: "put",
        key: "/elsewhere",
        value: Buffer.from("x"),
        expectedRevision: 0,
      });
      const sink = new RecordingSink();
      kv.watch({ prefix: "/quiet/", fromRevision: 1 }, sink);
      await sink.until(({ signals }) => signals.includes(`progress ${elsewhere.revision}`));
      expect(sink.seen).toEqual([]);
    } finally {
      await kv.close();
      await notifying!.stop();
    }
  });
});

describe.skipIf(etcd === undefined)("TLS", () => {
  test(
    "with a client certificate works for requests and watches, and fails without a trusted CA",
    { timeout: 30_000 },
    async ({ skip }) => {
      const directory = mkdtempSync(join(tmpdir(), "evenkeel-etcd-tls-"));
      await using cleanup = new AsyncDisposableStack();
      cleanup.defer(() => rmSync(directory, { recursive: true, force: true }));
      const files = makeCertificates(directory);
      if (files === undefined) return skip("openssl is not installed");
      const secure = await startEtcd({ tls: files });
      cleanup.defer(() => secure!.stop());
      const base = { endpoints: [secure!.endpoint], clock: realClock() };
      const mutual = { ca: files.ca, cert: files.clientCert, key: files.clientKey };

      const kv = await openEtcdKv({ ...base, tls: { ...mutual, serverName: "etcd.test" } });
      cleanup.defer(() => kv.close());
      const sink = new RecordingSink();
      kv.watch({ prefix: "/", fromRevision: 1 }, sink);
      const values = Array.from({ length: 400 }, (_, index) => `/tls/${index}`);
      await Promise.all(
        values.map((key) => kv.commit({ kind: "put", key, value: Buffer.alloc(3_000), expectedRevision: 0 })),
      );
      expect((await kv.range({ start: "/tls/", end: "/tls0" })).items).toHaveLength(400);
      await sink.until(({ seen }) => seen.length === 400);

      const pinned = { ...mutual, ca: readFileSync(files.certFile) };
      const trusting = await openEtcdKv({ ...base, tls: pinned });
      cleanup.defer(() => trusting.close());
      expect(await trusting.currentRevision()).toBe(await kv.currentRevision());

      for (const tls of [
        { ca: files.ca },
        { cert: files.clientCert, key: files.clientKey },
        { ...mutual, serverName: "other.test" },
        { ...mutual, ca: files.clientCert },
        { ...pinned, serverName: "other.test" },
      ]) {
        const rejected = await openEtcdKv({ ...base, tls, requestTimeoutMs: 500 });
        cleanup.defer(() => rejected.close());
        await expect(rejected.currentRevision()).rejects.toMatchObject({ code: "unavailable" });
      }
    },
  );
});
