import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import { prefixEnd, type Kv } from "../../src/storage/kv.ts";
import { realClock } from "../testing/real-clock.ts";
import { ETCD_MISSING, hasEtcd, startEtcd, type EtcdProcess } from "../testing/storage/kv-etcd/start-etcd.ts";
import { configMap, CONFIG_MAPS, Watch, type Json } from "./client.ts";
import { RestoreLoad, untilRecovered } from "./etcd-restore-load.ts";
import { startEvenkeel, type Evenkeel } from "./start-evenkeel.ts";

/** Number of restores of each kind. */
const ROUNDS = Number(process.env["EVENKEEL_ROUNDS"] ?? 1);
const WRITES_PER_PHASE = 30;
/** By how many revisions the new history exceeds the old one before the servers see it. */
const OVERTAKEN_BY = 50;
const LOST = `${CONFIG_MAPS}/lost`;
const PREFIX = "/registry/configmaps/default/";

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

async function withStore<T>(etcd: EtcdProcess, work: (kv: Kv) => Promise<T>): Promise<T> {
  const kv = await openEtcdKv({ endpoints: [etcd.endpoint], clock: realClock() });
  try {
    return await work(kv);
  } finally {
    await kv.close();
  }
}

/** Commits to keys that no server reads until the store is past the revision. */
function overtake(etcd: EtcdProcess, revision: number): Promise<void> {
  return withStore(etcd, async (kv) => {
    let newest = await kv.currentRevision();
    for (let expectedRevision = 0; newest <= revision + OVERTAKEN_BY; expectedRevision = newest) {
      const result = await kv.commit({ kind: "put", key: "overtake", value: Buffer.from("x"), expectedRevision });
      newest = result.committed ? result.revision : (result.current?.modRevision ?? 0);
    }
  });
}

async function untilStatus(
  server: Evenkeel,
  { method, path }: { readonly method: string; readonly path: string },
  statuses: readonly number[],
): Promise<void> {
  const body = method === "POST" ? configMap("lost") : undefined;
  while (!statuses.includes((await server.request(method, path, body)).status)) await delay(50);
}

/** Restores the backup, either while the servers run, or while they are paused until the new history is longer. */
async function restore(etcd: EtcdProcess, servers: readonly Evenkeel[], kind: "lower" | "overtaken"): Promise<void> {
  const signal = (name: NodeJS.Signals): void => servers.forEach(({ pid }) => process.kill(pid, name));
  await etcd.kill();
  const backup = etcd.backUp();
  await etcd.restart();
  // Each server must have seen a change that the restore undoes. Otherwise its view is correct in both histories.
  for (const server of servers) await untilStatus(server, { method: "POST", path: CONFIG_MAPS }, [201, 409]);
  for (const server of servers) await untilStatus(server, { method: "GET", path: `${LOST}?resourceVersion=0` }, [200]);
  if (kind === "overtaken") signal("SIGSTOP");
  const before = await withStore(etcd, (kv) => kv.currentRevision());
  await etcd.kill();
  backup.restore();
  await etcd.restart();
  if (kind === "overtaken") {
    await overtake(etcd, before);
    signal("SIGCONT");
  }
}

/** Expects each server to list, from the store and from its cache, exactly the objects in etcd. */
async function expectTruth(etcd: EtcdProcess, servers: readonly Evenkeel[]): Promise<void> {
  const { items } = await withStore(etcd, (kv) => kv.range({ start: PREFIX, end: prefixEnd(PREFIX) }));
  const stored = items.map(({ key, modRevision }) => `${key.slice(PREFIX.length)}@${modRevision}`).toSorted();
  expect(stored.length).toBeGreaterThan(1);
  for (const server of servers) {
    for (const query of ["", "?resourceVersion=0"]) {
      const { body } = await server.request("GET", CONFIG_MAPS + query);
      const listed = body.items.map(({ metadata }: Json) => `${metadata.name}@${metadata.resourceVersion}`);
      expect(listed.toSorted()).toEqual(stored);
    }
  }
}

async function roundOf(etcd: EtcdProcess, servers: readonly Evenkeel[], round: Round): Promise<void> {
  const { kind, changes, load } = round;
  using watch = new Watch(servers[changes % servers.length]!, `${CONFIG_MAPS}?watch=true`);
  expect(await watch.opened).toBe(200);
  await load.moreWrites(WRITES_PER_PHASE);
  load.disturb();
  await restore(etcd, servers, kind);
  const restoredAt = performance.now();
  const histories = await untilRecovered(servers, changes);
  const windowMs = performance.now() - restoredAt;
  load.judge();
  expect(histories.map((history) => history.changes)).toEqual(servers.map(() => changes));
  expect(await watch.ended).toBe("complete");
  expect(watch.events.at(-1)).toMatchObject({ type: "ERROR", object: { code: 410 } });
  for (const server of servers) {
    expect((await server.request("GET", LOST)).status).toBe(404);
    expect((await server.request("GET", "/readyz")).status).toBe(200);
  }
  await load.moreWrites(WRITES_PER_PHASE);
  expect(load.wrong).toEqual([]);
  const seconds = histories.map((history) => history.recoveredAfterSeconds.toFixed(1));
  console.info(`restore (${kind}): window ${Math.round(windowMs)} ms, recovered after ${seconds.join(" s, ")} s`);
  console.info(`  evidence: ${histories.map((history) => history.evidence).join("; ")}`);
}

interface Round {
  readonly kind: "lower" | "overtaken";
  /** Number of restores so far, including this one. */
  readonly changes: number;
  readonly load: RestoreLoad;
}

describe.skipIf(isMissing)("three servers whose etcd is restored from a backup", { timeout: 120_000 * ROUNDS }, () => {
  test("serve the restored objects after a recovery without a restart, also if the new history has overtaken the old one", async () => {
    const etcd = (await startEtcd())!;
    const servers: Evenkeel[] = [];
    try {
      const flags = (id: string): string[] => ["--server-id", id, "--etcd-servers", etcd.endpoint];
      const start = async (id: string): Promise<void> => void servers.push(await startEvenkeel({ flags: flags(id) }));
      await start("a");
      const others = await Promise.allSettled([start("b"), start("c")]);
      expect(others.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
      await servers[0]!.request("POST", CONFIG_MAPS, configMap("shared"));
      const load = new RestoreLoad(servers);
      let changes = 0;
      for (let round = 0; round < ROUNDS; round++) {
        await roundOf(etcd, servers, { kind: "lower", changes: ++changes, load });
        await roundOf(etcd, servers, { kind: "overtaken", changes: ++changes, load });
      }
      await load.stop();
      await expectTruth(etcd, servers);
      expect(load.wrong).toEqual([]);
      expect(load.judged.counts["right"]).toBeGreaterThan(4 * WRITES_PER_PHASE * ROUNDS - servers.length);
      console.info("judged:", load.judged.counts, "during the restores:", load.disturbed.counts);
      for (const { stderr } of servers) expect(stderr).toContain("the history of the store has changed");
    } finally {
      for (const server of servers) await server[Symbol.asyncDispose]();
      await etcd.stop();
    }
  });
});
