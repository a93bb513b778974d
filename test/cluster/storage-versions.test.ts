/**
 * Tests of servers of two releases that write one resource in two versions, and of the migration after both servers
 * have the same release.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import { realClock } from "../testing/real-clock.ts";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { prefixEnd, type Kv } from "../../src/storage/kv.ts";
import { KubectlSession, cells } from "../clients/kubectl-session.ts";
import { findTools } from "../clients/tools.ts";
import { Tally, Watch, type Json } from "../smoke/client.ts";
import { disposableDirectory, run, startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";
import {
  AFTER,
  agreement,
  BEFORE,
  DEVICE_CLASSES,
  inParallel,
  isAgreed,
  listed,
  metricSum,
  migrationsEnded,
  MIGRATED,
  poll,
  rawCounts,
  rawObjects,
  RESOURCE_CLAIMS,
  STORAGE_VERSIONS,
  storageState,
  storageVersions,
  SUBJECTS,
  type Subject,
} from "./storage-versions.ts";

/** The number of objects per resource and pair of creating and updating server. */
const OBJECTS = 25;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);
const kubectl = isMissing ? undefined : findTools().kubectls.findLast(({ path }) => path !== undefined);

interface Written {
  readonly subject: Subject;
  readonly name: string;
  readonly creator: Member;
  readonly updater: Member | undefined;
}

describe.skipIf(isMissing)("servers of 1.34 and 1.35 on one etcd", { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let kv: Kv;
  let a: Member;
  let b: Member;
  beforeAll(async () => {
    cluster = await openCluster();
    kv = await openEtcdKv({ endpoints: [cluster.etcd.endpoint], clock: realClock() });
    [a, b] = await Promise.all([
      cluster.start({ id: "a", release: "1.34" }),
      cluster.start({ id: "b", release: "1.35" }),
    ]);
  });
  afterAll(async () => {
    await kv?.close();
    await cluster?.[Symbol.asyncDispose]();
  });

  const disagreements = async (): Promise<Json[]> => {
    const known = await storageVersions(a);
    return MIGRATED.map(({ name }) => agreement(known.get(name)));
  };

  test("have no common version, write the versions of their StorageVersion entries, and read each other's objects", async () => {
    const differing = MIGRATED.map(() => ({ common: undefined, condition: "False" }));
    await poll(disagreements, (found) => found.every(({ condition }) => condition === "False"));
    const entries = await encodings(a);
    expect(MIGRATED.map(({ name }) => entries.get(name))).toEqual(MIGRATED.map(() => ({ a: BEFORE, b: AFTER })));
    const written = plan(a, b);
    const statuses = new Tally();
    await inParallel(written, (one) => write(one, statuses));
    const updates = written.filter(({ updater }) => updater !== undefined).length;
    expect(statuses.counts).toEqual({ 201: written.length, 200: updates });
    expect(await disagreements()).toEqual(differing);
    expect(await encodings(a)).toEqual(entries);

    const wrong: string[] = [];
    for (const subject of SUBJECTS) {
      const raw = new Map((await rawObjects(kv, subject)).map((object) => [object.name, object]));
      for (const { name, creator, updater } of written.filter((one) => one.subject === subject)) {
        const expected = entries.get(subject.name)![(updater ?? creator).id];
        if (raw.get(name)?.apiVersion !== expected)
          wrong.push(`${subject.name} ${name}: ${raw.get(name)?.apiVersion}, not ${expected}`);
      }
      const [throughA, throughB] = [await listed(a, subject), await listed(b, subject)];
      expect(throughA).toEqual(throughB);
      for (const { name, object } of raw.values()) expect(throughA[name]).toBe(object.metadata.uid);
      expect(Object.keys(throughA)).toHaveLength(raw.size);
    }
    expect(wrong).toEqual([]);
    console.info(`${written.length} objects created and ${updates} updated through two releases`);
  });

  test("store objects in both versions, and `evenkeel stored-versions` reports the counts of the store", async () => {
    const counts = await agreesWithStore(a, kv);
    for (const { name } of MIGRATED) expect(Object.keys(counts.get(name)!).sort()).toEqual([AFTER, BEFORE].sort());
  });

  test("agree on one version once both are 1.35, and stored objects are rewritten in it without other changes", async () => {
    const before = await everything(b);
    const stale = new Set<string>();
    for (const subject of MIGRATED)
      for (const { name, apiVersion } of await rawObjects(kv, subject))
        if (apiVersion === BEFORE) stale.add(`${subject.name} ${name}`);
    const watches = await watchAll(b);

    const stoppedAt = Date.now();
    await a.stop();
    a = await cluster.start({ id: "a", release: "1.35", port: a.port });
    const readyAt = Date.now();
    const agreed = await poll(
      () => storageVersions(a),
      (known) => MIGRATED.every(({ name }) => isAgreed(known.get(name), AFTER) && writersOf(known.get(name)) === "a,b"),
    );
    const stored = await poll(
      () => Promise.all(MIGRATED.map((subject) => rawCounts(kv, subject))),
      (counts) => counts.every((versions) => Object.keys(versions).join() === AFTER),
    );
    const said = await poll(
      () => Promise.all(MIGRATED.map((subject) => storageState(a, subject))),
      (states) => states.every(({ persistedVersions }) => persistedVersions?.join() === AFTER),
    );
    console.info(
      `ready ${readyAt - stoppedAt} ms after the stop; agreed ${agreed.ms} ms after that (${agreed.polls} polls), ` +
        `${stale.size} objects rewritten ${stored.ms} ms after that (${stored.polls} polls), ` +
        `reported ${said.ms} ms after that (${said.polls} polls)`,
    );
    for (const subject of MIGRATED)
      expect(await metricSum([a, b], migrationsEnded(subject, "succeeded"))).toBeGreaterThan(0);

    expect(await everything(b)).toEqual(before);
    expect(await everything(a)).toEqual(before);
    for (const { subject, watch } of watches)
      await watch.until(
        ({ length }) => length >= [...stale].filter((one) => one.startsWith(`${subject.name} `)).length,
      );
    const events = watches.flatMap(({ subject, watch }) =>
      watch.events.map(({ type, name }) => `${type} ${subject.name} ${name}`),
    );
    expect(events.sort()).toEqual([...stale].map((one) => `MODIFIED ${one}`).sort());
    for (const { watch } of watches) watch.close();
    const counts = await agreesWithStore(a, kv);
    for (const { name } of MIGRATED) expect(Object.keys(counts.get(name)!)).toEqual([AFTER]);
  });

  test.skipIf(kubectl === undefined)("are listed with their encodings by `kubectl get storageversions`", async () => {
    const session = new KubectlSession({ path: kubectl!.path!, server: a, namespace: "default" });
    const [headings, ...rows] = cells(await session.run("get", "storageversions"));
    expect(headings).toEqual(["NAME", "COMMONENCODINGVERSION", "STORAGEVERSIONS", "AGE"]);
    expect(rows).toHaveLength((await storageVersions(a)).size);
    const row = rows.find(([name]) => name === RESOURCE_CLAIMS.name);
    expect(row?.slice(1, 3)).toEqual([AFTER, `a=${AFTER},b=${AFTER}`]);
  });

  test("keep the entries of a server that is killed and restarted, and remove those of a server that does not return", async () => {
    using watch = await watchStorageVersions(a);
    await b.kill9();
    b = await cluster.start({ id: "b", release: "1.35", port: b.port });
    const without = async (): Promise<number> =>
      [...(await storageVersions(a)).values()].filter((status) => writersOf(status) !== "a,b").length;
    expect(await without()).toBe(0);
    // When the watch delivers this object, it has delivered all earlier changes.
    expect((await a.request("POST", STORAGE_VERSIONS, MARKER)).status).toBe(201);
    const isMarker = ({ name }: { readonly name: string }): boolean => name === MARKER.metadata.name;
    await watch.until((events) => events.some(isMarker));
    const seen = watch.events.slice(0, watch.events.findIndex(isMarker)).map(({ type, name }) => `${type} ${name}`);
    expect(seen).toEqual([]);

    const killedAt = Date.now();
    await b.kill9();
    const gone = await poll(
      () => storageVersions(a),
      (known) => [...known.values()].every((status) => !writersOf(status).includes("b")),
    );
    const tally = new Tally();
    for (const { type } of watch.events) tally.add(type);
    console.info(
      `killed and back: ${seen.length} events of storageversions; killed permanently: gone from ` +
        `${gone.value.size} storageversions after ${Date.now() - killedAt} ms (${gone.polls} polls), ` +
        `events ${JSON.stringify(tally.counts)}`,
    );
    for (const { name } of MIGRATED) expect(isAgreed(gone.value.get(name), AFTER)).toBe(true);
  });
});

describe("a server with its own store", { timeout: 120_000 }, () => {
  const OFF = ["--runtime-config", "internal.apiserver.k8s.io/v1alpha1=false"];
  const WITHOUT_GATE = ["--feature-gates", "StorageVersionAPI=false"];

  test("loses no object when storage versions are turned off and on again", async () => {
    using directory = disposableDirectory();
    const known: Record<string, Record<string, string>> = {};
    const inRun = async (flags: readonly string[], work: (server: Evenkeel) => Promise<void>): Promise<void> => {
      await using server = await startEvenkeel({
        dataDir: directory.path,
        flags: ["--release", "1.35", ...flags],
      });
      for (const subject of SUBJECTS)
        expect(withoutPublished(await listed(server, subject))).toEqual(withoutPublished(known[subject.name] ?? {}));
      await work(server);
      await makeAndRemove(server, known);
      expect(await server.stop()).toEqual({ code: 0, signal: null });
    };
    const responses = async (server: Evenkeel): Promise<number> =>
      (await server.request("GET", STORAGE_VERSIONS)).status;
    // Returns 404, because no server has served the resource yet. In later runs it returns 503, because a departed
    // server has served it.
    await inRun(OFF, async (server) => expect(await responses(server)).toBe(404));
    await inRun([], untilAllAgree);
    await inRun(OFF, async (server) => expect(await responses(server)).toBe(503));
    await inRun([], untilAllAgree);
    await inRun(WITHOUT_GATE, async (server) => expect(await responses(server)).toBe(200));
    await inRun([], untilAllAgree);
  });

  test("migrates objects that were written while storage versions were off, even if the migration was recorded as complete before", async () => {
    using directory = disposableDirectory();
    const start = (...flags: string[]): Promise<Evenkeel> => startEvenkeel({ dataDir: directory.path, flags });
    const create = async (server: Evenkeel, name: string): Promise<void> => {
      const { path, make } = DEVICE_CLASSES;
      expect((await server.request("POST", path, make(name))).status).toBe(201);
    };
    const isMigrated = ({ persistedVersions }: Json): boolean => persistedVersions?.join() === AFTER;
    const untilMigrated = async (server: Evenkeel): Promise<void> => {
      await poll(() => storageState(server, DEVICE_CLASSES), isMigrated);
      expect((await storedVersions(server)).get(DEVICE_CLASSES.name)).toEqual({
        [AFTER]: await count(server),
      });
      await server.stop();
    };
    const count = async (server: Evenkeel): Promise<number> => Object.keys(await listed(server, DEVICE_CLASSES)).length;
    for (const [turn, off] of [OFF, WITHOUT_GATE].entries()) {
      await using on = await start("--release", "1.35");
      await create(on, `on-${turn}`);
      await untilMigrated(on);
      await using without = await start("--release", "1.34", ...off);
      await create(without, `off-${turn}`);
      expect((await storedVersions(without)).get(DEVICE_CLASSES.name)).toMatchObject({
        [BEFORE]: 1,
      });
      expect(await storageState(without, DEVICE_CLASSES)).toEqual({});
      await without.stop();
    }
    await using on = await start("--release", "1.35");
    await untilMigrated(on);
  });
});

/** The objects without kube-root-ca.crt, which a controller creates at any time. */
function withoutPublished(objects: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(objects).filter(([name]) => name !== "kube-root-ca.crt"));
}

/** Creates three objects of each resource, deletes one of them, and updates `known`. */
async function makeAndRemove(server: Evenkeel, known: Record<string, Record<string, string>>): Promise<void> {
  const turn = Object.values(known)[0] === undefined ? 0 : Object.keys(Object.values(known)[0]!).length;
  for (const subject of SUBJECTS) {
    const { path, make } = subject;
    for (const name of [`x-${turn}`, `y-${turn}`, `z-${turn}`])
      expect((await server.request("POST", path, make(name))).status).toBe(201);
    expect((await server.request("DELETE", `${path}/x-${turn}`)).status).toBe(200);
    known[subject.name] = await listed(server, subject);
    expect(Object.keys(known[subject.name]!)).toContain(`y-${turn}`);
  }
}

async function untilAllAgree(server: Evenkeel): Promise<void> {
  const { value, polls, ms } = await poll(
    () => storageVersions(server),
    (known) => known.size > 0 && [...known.values()].every((status) => agreement(status).condition === "True"),
  );
  for (const { name } of MIGRATED) expect(isAgreed(value.get(name), AFTER)).toBe(true);
  console.info(`switched on: ${value.size} storage versions true ${ms} ms after ready (${polls} polls)`);
}

const MARKER = {
  apiVersion: "internal.apiserver.k8s.io/v1alpha1",
  kind: "StorageVersion",
  metadata: { name: "example.com.markers" },
};

/** The version that each server writes, keyed by resource and server ID. */
async function encodings(server: Evenkeel): Promise<Map<string, Record<string, string>>> {
  const known = await storageVersions(server);
  return new Map(
    [...known].map(([name, { storageVersions: entries = [] }]) => [
      name,
      Object.fromEntries(entries.map(({ apiServerID, encodingVersion }: Json) => [apiServerID, encodingVersion])),
    ]),
  );
}

function writersOf(status: Json): string {
  return (status?.storageVersions ?? []).map(({ apiServerID }: Json) => apiServerID).join();
}

/** Objects that each server creates, and that no server, the same server or the other server updates. */
function plan(a: Member, b: Member): Written[] {
  const ways = [a, b].flatMap((creator) => [undefined, a, b].map((updater) => ({ creator, updater })));
  return Array.from({ length: OBJECTS }, (_, turn) =>
    ways.flatMap(({ creator, updater }) =>
      SUBJECTS.map((subject) => {
        const name = `by-${creator.id}-${updater === undefined ? "alone" : `then-${updater.id}`}-${turn}`;
        return { subject, name, creator, updater };
      }),
    ),
  ).flat();
}

async function write({ subject, name, creator, updater }: Written, statuses: Tally): Promise<void> {
  const { path, make } = subject;
  const created = await creator.request("POST", path, make(name));
  statuses.add(created.status);
  if (updater === undefined) return;
  const { body } = created;
  const changed = { ...body, metadata: { ...body.metadata, labels: { updated: "yes" } } };
  statuses.add((await updater.request("PUT", `${path}/${name}`, changed)).status);
}

/** All fields of the objects, except the resourceVersion. */
async function everything(server: Evenkeel): Promise<Json> {
  const found: Record<string, Json> = {};
  for (const { name, path } of SUBJECTS) {
    const { body } = await server.request("GET", path);
    for (const { metadata, ...rest } of body.items)
      found[`${name} ${metadata.name}`] = {
        ...rest,
        metadata: { ...metadata, resourceVersion: undefined },
      };
  }
  return found;
}

async function watchAll(server: Member): Promise<{ readonly subject: Subject; readonly watch: Watch }[]> {
  const watches = [];
  for (const subject of SUBJECTS) watches.push({ subject, watch: await watchFromNow(server, subject.path) });
  return watches;
}

function watchStorageVersions(server: Member): Promise<Watch> {
  return watchFromNow(server, STORAGE_VERSIONS);
}

async function watchFromNow(server: Member, path: string): Promise<Watch> {
  const { body } = await server.request("GET", path);
  const watch = new Watch(server, `${path}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
  expect(await watch.opened).toBe(200);
  return watch;
}

/** The counts that `evenkeel stored-versions` reports for each resource, after comparing them with the store. */
async function agreesWithStore(server: Member, kv: Kv): Promise<Map<string, Record<string, number>>> {
  const report = await storedVersionsReport(server);
  const counts = countsOf(report);
  for (const subject of MIGRATED) expect(counts.get(subject.name)).toEqual(await rawCounts(kv, subject));
  const { items } = await kv.range({
    start: "/registry/",
    end: prefixEnd("/registry/"),
    revision: report.revision,
  });
  const reported = [...counts.values()].flatMap((versions) => Object.values(versions));
  expect(reported.reduce((sum, objects) => sum + objects, report.privateKeys)).toBe(items.length);
  expect(report.unknown).toEqual([]);
  return counts;
}

async function storedVersions(server: Evenkeel): Promise<Map<string, Record<string, number>>> {
  return countsOf(await storedVersionsReport(server));
}

async function storedVersionsReport({ dataDir }: Evenkeel): Promise<Json> {
  await using command = run("stored-versions", "-o", "json", "--data-dir", dataDir);
  expect(await command.exited).toEqual({ code: 0, signal: null });
  return JSON.parse(command.stdout);
}

/** The number of stored objects, keyed by resource and version. */
function countsOf({ resources }: Json): Map<string, Record<string, number>> {
  return new Map(
    resources.map(({ group, resource, versions }: Json) => [
      `${group || "core"}.${resource}`,
      Object.fromEntries(versions.map(({ apiVersion, objects }: Json) => [apiVersion, objects])),
    ]),
  );
}
