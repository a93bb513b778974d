import { describe, expect, test } from "vitest";
import { parseStorageState, storedPosition, UNKNOWN_STATE, withPersisted, type StorageState } from "./state-value.ts";
import { createStorageStates, type StorageStates } from "./storage-state.ts";
import {
  FakeCluster,
  rejection,
  type Json,
} from "../../../../test/testing/cluster/storageversion/migration/fake-cluster.ts";

const MIGRATED: StorageState = { persistedVersions: ["apps/v1"], currentVersion: "apps/v1" };

function statesOf(cluster: FakeCluster): StorageStates {
  return createStorageStates({
    client: cluster.client,
    clock: cluster.world.clock,
    random: cluster.world.randomFor("states"),
  });
}

function dataIn(cluster: FakeCluster): Json {
  return cluster.object("configmaps", "evenkeel-storage-state", "kube-system")?.data;
}

describe("the state of a resource", () => {
  test.each([
    ["missing", undefined],
    ["no JSON", "{"],
    ["no object", "[]"],
    ["null", "null"],
    ["without versions", "{}"],
    ["without a version", '{"persistedVersions":[],"currentVersion":"v1"}'],
    ["with invalid versions", '{"persistedVersions":[1],"currentVersion":"v1"}'],
    ["with an empty version", '{"persistedVersions":[""],"currentVersion":"v1"}'],
    ["without a current version", '{"persistedVersions":["v1"]}'],
    ["with too many versions", JSON.stringify({ persistedVersions: Array(33).fill("v1"), currentVersion: "v1" })],
  ])("is unknown if it is %s", (_what, text) => {
    expect(parseStorageState(text)).toEqual({ persistedVersions: ["Unknown"], currentVersion: "Unknown" });
  });

  test("is decoded as it was encoded", () => {
    const state: StorageState = {
      ...MIGRATED,
      lastHeartbeatTime: "2030-01-01T00:00:00Z",
      verified: { resourceVersion: "7", since: "2030-01-01T00:00:00Z", time: "2030-01-01T00:00:05Z" },
      migration: {
        owner: "automatic",
        version: "apps/v1",
        resourceVersion: "7",
        startTime: "2030-01-01T00:00:00Z",
        result: "Running",
        position: { continueToken: "token", migrated: 3, failed: 1, failures: [{ object: "a/b", message: "no" }] },
        total: 9,
      },
    };
    expect(parseStorageState(JSON.stringify(state))).toEqual(state);
  });

  test("loses fields that a person has made invalid", () => {
    const text = JSON.stringify({
      ...MIGRATED,
      lastHeartbeatTime: "yesterday",
      verified: { resourceVersion: "7" },
      migration: { owner: "automatic", version: 7 },
    });
    expect(parseStorageState(text)).toEqual(MIGRATED);
  });

  test("keeps the counts of a position only if they are valid", () => {
    const migration = { owner: "a", version: "v1", startTime: "2030-01-01T00:00:00Z", result: "Running" };
    const position = { continueToken: {}, migrated: -1, failed: 1.5, failures: [1, { object: "a" }] };
    const text = JSON.stringify({ ...MIGRATED, migration: { ...migration, position } });
    expect(parseStorageState(text).migration?.position).toEqual({
      continueToken: "",
      migrated: 0,
      failed: 0,
      failures: [{ object: "a", message: "" }],
    });
  });

  test("becomes unknown if there are too many versions", () => {
    const versions = Array.from({ length: 40 }, (_, index) => `v${index}`);
    expect(withPersisted(MIGRATED, versions).persistedVersions).toEqual(["Unknown"]);
    expect(withPersisted(MIGRATED, ["apps/v1"])).toBe(MIGRATED);
  });

  test("holds a position of limited size", () => {
    const failures = Array.from({ length: 100 }, () => ({ object: "o".repeat(9_999), message: "m".repeat(9_999) }));
    const stored = storedPosition({ continueToken: "t", migrated: 1, failed: 100, failures });
    expect(JSON.stringify(stored).length).toBeLessThan(10_000);
    expect(storedPosition({ continueToken: "t".repeat(5_000), migrated: 1, failed: 0, failures: [] })).toEqual({
      continueToken: "",
      migrated: 0,
      failed: 0,
      failures: [],
    });
  });
});

describe("the ConfigMap", () => {
  test("is created by the first change; before that, every state is unknown", async () => {
    const cluster = new FakeCluster();
    const states = statesOf(cluster);
    expect(await cluster.world.run(states.load("apps.deployments"))).toEqual(UNKNOWN_STATE);
    expect(cluster.writes("configmaps")).toEqual([]);
    await cluster.world.run(states.update("apps.deployments", () => MIGRATED));
    expect(dataIn(cluster)).toEqual({ "apps.deployments": JSON.stringify(MIGRATED) });
    expect(await cluster.world.run(states.load("apps.deployments"))).toEqual(MIGRATED);
  });

  test("is not written if nothing changes", async () => {
    const cluster = new FakeCluster();
    const states = statesOf(cluster);
    await cluster.world.run(states.update("apps.deployments", () => MIGRATED));
    await cluster.world.run(states.update("apps.deployments", (state) => ({ ...state })));
    expect(cluster.writes("configmaps")).toHaveLength(1);
  });

  test("keeps keys that people added, and an invalid value of a resource is replaced", async () => {
    const cluster = new FakeCluster();
    const metadata = { namespace: "kube-system", name: "evenkeel-storage-state", labels: { a: "b" } };
    cluster.put("configmaps", { metadata, data: { note: "mine", "core.pods": "nonsense" } });
    const states = statesOf(cluster);
    expect(await cluster.world.run(states.load("core.pods"))).toEqual(UNKNOWN_STATE);
    await cluster.world.run(states.update("core.pods", () => MIGRATED));
    await cluster.world.run(states.update("core.pods", () => UNKNOWN_STATE));
    expect(dataIn(cluster)).toEqual({ note: "mine" });
    const { labels } = cluster.object("configmaps", "evenkeel-storage-state", "kube-system").metadata;
    expect(labels).toEqual({ a: "b" });
  });

  test("loses no concurrent change, whether of the same process or of another one", async () => {
    const cluster = new FakeCluster();
    const writers = [statesOf(cluster), statesOf(cluster), statesOf(cluster)];
    const names = Array.from({ length: 12 }, (_, index) => `group${index}.things`);
    const updates = names.map((name, index) => writers[index % 3]!.update(name, () => MIGRATED));
    await cluster.world.run(Promise.all(updates));
    expect(Object.keys(dataIn(cluster)).sort()).toEqual([...names].sort());
  });

  test("receives all waiting changes in one write", async () => {
    const cluster = new FakeCluster();
    const states = statesOf(cluster);
    const updates = Array.from({ length: 70 }, (_, index) => states.update(`g${index}.things`, () => MIGRATED));
    await cluster.world.run(Promise.all(updates));
    expect(cluster.writes("configmaps")).toHaveLength(1);
  });

  test("is read once for all concurrent callers, and the read begins after their calls", async () => {
    const cluster = new FakeCluster();
    const states = statesOf(cluster);
    const reads = (): number => cluster.calls.filter(({ method }) => method === "GET").length;
    const before = reads();
    await cluster.world.run(Promise.all(Array.from({ length: 50 }, (_, index) => states.load(`apps.r${index}`))));
    expect(reads() - before).toBe(1);
    await cluster.world.run(states.update("apps.deployments", () => MIGRATED));
    expect(await cluster.world.run(states.load("apps.deployments"))).toEqual(MIGRATED);
  });

  test("is written a limited number of times if every write conflicts", async () => {
    const cluster = new FakeCluster();
    cluster.before = ({ method }) => (method === "POST" ? rejection(409, "AlreadyExists") : undefined);
    const update = statesOf(cluster).update("apps.deployments", () => MIGRATED);
    await expect(cluster.world.run(update)).rejects.toThrow("AlreadyExists");
    expect(cluster.writes("configmaps")).toHaveLength(10);
  });

  test("can be changed after a change that failed", async () => {
    const cluster = new FakeCluster();
    const states = statesOf(cluster);
    cluster.before = ({ method }) => (method === "POST" ? rejection(403, "Forbidden") : undefined);
    await expect(cluster.world.run(states.update("a.b", () => MIGRATED))).rejects.toThrow("Forbidden");
    cluster.before = () => undefined;
    await cluster.world.run(states.update("a.b", () => MIGRATED));
    expect(Object.keys(dataIn(cluster))).toEqual(["a.b"]);
  });

  test.each(["", "a/b", "x".repeat(254)])("rejects a name that is not a valid key: %j", async (name) => {
    await expect(statesOf(new FakeCluster()).update(name, () => MIGRATED)).rejects.toThrow(
      "is not a valid resource name",
    );
  });

  test("accepts a resource named like an inherited object property", async () => {
    const cluster = new FakeCluster();
    const states = statesOf(cluster);
    await cluster.world.run(states.update("__proto__", () => MIGRATED));
    expect(await cluster.world.run(states.load("__proto__"))).toEqual(MIGRATED);
    expect(await cluster.world.run(states.load("constructor"))).toEqual(UNKNOWN_STATE);
  });

  test("can be changed as a whole in one write", async () => {
    const cluster = new FakeCluster();
    const states = statesOf(cluster);
    await cluster.world.run(Promise.all(["a.a", "b.b", "c.c"].map((name) => states.update(name, () => MIGRATED))));
    const before = cluster.writes("configmaps").length;
    const beat = { ...MIGRATED, lastHeartbeatTime: "2030-01-01T00:00:00Z" };
    await cluster.world.run(states.updateAll((name) => (name === "b.b" ? undefined : beat)));
    expect(cluster.writes("configmaps").length).toBe(before + 1);
    expect(dataIn(cluster)).toEqual({ "a.a": JSON.stringify(beat), "c.c": JSON.stringify(beat) });
  });
});
