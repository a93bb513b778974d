/**
 * Tests of storage migrations that are interrupted because a server of an older release joins, or because their leader
 * is killed.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import { realClock } from "../testing/real-clock.ts";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { Tally } from "../smoke/client.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";
import { StoreHistory } from "./storage-versions-history.ts";
import { startSlowLink, type SlowLink } from "./storage-versions-slow-link.ts";
import { AFTER, BEFORE, DEVICE_CLASSES, inParallel, metricSum, migrationsEnded, poll } from "./storage-versions.ts";

/** So many objects that the migration lists them in several pages. */
const OBJECTS = 1_400;
/** The number of migrated objects from which a migration counts as in progress. */
const SOME = 20;
/**
 * The delay of etcd. Only four objects are rewritten at a time, so a migration takes long enough to start a server
 * meanwhile.
 */
const LAG_MS = 40;
/**
 * The delay of etcd for a migration that must record its progress. Progress is recorded at the end of a page, but not
 * in the first five seconds, and the last page but one ends later than that.
 */
const SHORTER_LAG_MS = 20;
const MIGRATED_OBJECTS = `evenkeel_storage_migration_objects_total{resource="${DEVICE_CLASSES.name}",result="migrated"}`;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)("a storage migration of many objects", { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let link: SlowLink;
  let kv: Kv;
  let history: StoreHistory;
  let a: Member;
  let leader: Member;
  beforeAll(async () => {
    cluster = await openCluster();
    link = await startSlowLink(cluster.etcd.endpoint);
    kv = await openEtcdKv({ endpoints: [cluster.etcd.endpoint], clock: realClock() });
    history = new StoreHistory(kv, DEVICE_CLASSES);
    leader = await cluster.start({ id: "leader", release: "1.35", etcd: link.endpoint });
    a = await cluster.start({ id: "a", release: "1.34" });
  });
  afterAll(async () => {
    history?.[Symbol.dispose]();
    await kv?.close();
    await cluster?.[Symbol.asyncDispose]();
    await link?.[Symbol.asyncDispose]();
  });

  test("can begin: all objects are stored in the old version, and the first server leads the controllers", async () => {
    expect(await leaderName(a)).toMatch(/^leader_/);
    const names = Array.from({ length: OBJECTS }, (_, turn) => `class-${turn}`);
    expect(await createAll(a, names)).toEqual({ 201: OBJECTS });
    await history.until("all are stored", () => history.count(BEFORE) === OBJECTS);
  });

  test("is aborted when an old server joins, and no version is recorded as the only stored version", async () => {
    link.lagMs = LAG_MS;
    await a.stop();
    a = await cluster.start({ id: "a", release: "1.35", port: a.port });
    await history.until("the migration is under way", () => history.count(AFTER) >= SOME);
    const old = await cluster.start({ id: "old", release: "1.34" });
    const atReady = history.count(BEFORE);
    expect(atReady).toBeGreaterThan(0);
    const aborted = await poll(
      () => metricSum([leader], migrationsEnded(DEVICE_CLASSES, "aborted")),
      (count) => count > 0,
    );
    const names = Array.from({ length: SOME }, (_, turn) => `late-${turn}`);
    expect(await createAll(old, names)).toEqual({ 201: SOME });
    await history.until("they are stored", () => history.count(BEFORE) + history.count(AFTER) === OBJECTS + SOME);
    expect(leader.stderr).toContain("storage migration aborted: the servers' storage versions changed");
    expect(history.state).not.toHaveProperty("verified");
    expect(history.isOnly(AFTER)).toBe(false);
    const left = history.count(BEFORE);
    expect(left).toBeGreaterThanOrEqual(SOME);
    expect(await old.stop()).toEqual({ code: 0, signal: null });
    console.info(
      `${atReady} of ${OBJECTS} objects to go when the old server was ready, aborted ${aborted.ms} ms after that ` +
        `(${aborted.polls} polls) with ${left} to go; ${history.revisions} revisions examined`,
    );
  });

  test("starts again after the old server has departed, and resumes from its recorded progress after its leader is killed", async () => {
    link.lagMs = SHORTER_LAG_MS;
    const isNoted = (): boolean => history.noted.at(-1)!.migrated > 0 && history.state.migration !== undefined;
    const notedMs = await history.until("progress is noted", isNoted);
    const before = history.noted.length;
    const saved = history.noted.at(-1)!.migrated;
    await leader.kill9();
    const killedAt = Date.now();
    const toGo = history.count(BEFORE);
    expect(toGo).toBeGreaterThan(0);
    leader = await cluster.start({ id: "leader", release: "1.35", port: leader.port });
    const doneMs = await history.until("all are migrated", () => history.isOnly(AFTER));
    expect([history.count(BEFORE), history.count(AFTER)]).toEqual([0, OBJECTS + SOME]);
    const afterwards = history.noted.slice(before).map(({ migrated }) => migrated);
    expect(afterwards.filter((migrated) => migrated < saved)).toEqual([]);
    const rewritten = await metricSum([a, leader], MIGRATED_OBJECTS);
    expect(rewritten).toBe(OBJECTS + SOME - saved);
    expect(await metricSum([a, leader], migrationsEnded(DEVICE_CLASSES, "succeeded"))).toBe(1);
    console.info(
      `noted ${saved} after ${notedMs} ms; killed with ${toGo} to go; ${await leaderName(a)} finished ` +
        `${Date.now() - killedAt} ms after that (${doneMs} ms after the killed one was back), rewriting ${rewritten}; ` +
        `noted then: ${afterwards.join()}; ${history.revisions} revisions examined`,
    );
  });

  test("is never recorded as complete while an object is stored in another version", () => {
    expect(history.revisions).toBeGreaterThan(2 * OBJECTS);
    expect(history.falseReports).toEqual([]);
  });

  test("is recorded as incomplete after an old server has written an object, and is repeated after that server has departed", async () => {
    const old = await cluster.start({ id: "old", release: "1.34" });
    expect(await createAll(old, ["after-all"])).toEqual({ 201: 1 });
    const ms = await history.until("that is noted", () => history.count(BEFORE) === 1 && !history.isOnly(AFTER));
    expect(history.provenFalseReports).toEqual([]);
    expect(await old.stop()).toEqual({ code: 0, signal: null });
    const againMs = await history.until("it is migrated, too", () => history.isOnly(AFTER));
    expect(history.count(BEFORE)).toBe(0);
    console.info(
      `noted ${ms} ms after an old server's first write, ${history.falseReports.length} revisions late; ` +
        `migrated again ${againMs} ms after it had departed; ${history.revisions} revisions examined`,
    );
  });
});

async function leaderName(server: Member): Promise<string> {
  const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evenkeel-controllers";
  return (await server.request("GET", lease)).body.spec.holderIdentity;
}

async function createAll(server: Member, names: readonly string[]): Promise<Record<string, number>> {
  const { path, make } = DEVICE_CLASSES;
  const statuses = new Tally();
  await inParallel(names, async (name) => statuses.add((await server.request("POST", path, make(name))).status));
  return statuses.counts;
}
