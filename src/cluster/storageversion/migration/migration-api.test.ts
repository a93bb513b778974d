/**
 * Tests migrations with real servers: the verbs that they use, the stored versions after them, and which migration
 * controllers a server runs.
 */
import { describe, expect, test } from "vitest";
import { configMap, CONFIG_MAPS, startServer, type Json, type TestServer } from "../../../../test/api/start.ts";
import { SILENT_LOG } from "../../../base/log.ts";
import { MetricsRegistry } from "../../../base/metrics.ts";
import { createClient } from "../../../client/client.ts";
import { World } from "../../../tools/simulator/world.ts";
import { prefixEnd } from "../../../storage/kv.ts";
import { createMigrationMetrics } from "./metrics.ts";
import { createEngine, migrateResource, type PassJob, type PassOutcome } from "./migrate-resource.ts";
import type { MigrationOptions } from "./migrator.ts";
import type { MigrationProgress } from "./progress.ts";
import { parseStorageState, type StorageState } from "./state-value.ts";
import { createStorageStates } from "./storage-state.ts";
import { createSvmController } from "./svm-controller.ts";

const CONFIG_MAP_TYPE = { group: "", version: "v1", resource: "configmaps" } as const;
const SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const STATE = "/api/v1/namespaces/kube-system/configmaps/evenkeel-storage-state";
const MIGRATIONS = "/apis/storagemigration.k8s.io";

function optionsFor({ world, server }: TestServer): MigrationOptions {
  const { clock } = world;
  const random = world.randomFor("migration");
  const client = createClient({ transport: server.transport, clock, random, defaults: { retriesMax: 0 } });
  return {
    client,
    clock,
    log: SILENT_LOG,
    engine: createEngine({ client, clock, random, pageItems: 500 }),
    states: createStorageStates({ client, clock, random }),
    metrics: createMigrationMetrics(new MetricsRegistry()),
  };
}

function pass(api: TestServer, job: Partial<PassJob> = {}): Promise<PassOutcome> {
  const { signal } = new AbortController();
  const checkAgreement = (): Promise<boolean> => Promise.resolve(true);
  const { engine } = optionsFor(api);
  const whole = { type: CONFIG_MAP_TYPE, checkAgreement, lost: signal, signal, ...job };
  return api.world.run(migrateResource(engine, whole));
}

async function withConfigMaps(api: TestServer, count: number): Promise<void> {
  for (let index = 0; index < count; index++) await api.create(CONFIG_MAPS, configMap(`c${1_000 + index}`));
}

async function metadataOf(api: TestServer, path: string): Promise<Json[]> {
  return (await api.get(path)).body.items.map(({ metadata }: Json) => metadata);
}

/** Counts the stored objects by version. */
async function storedIn(api: TestServer, prefix: string): Promise<Record<string, number>> {
  const { items } = await api.world.run(api.kv.range({ start: prefix, end: prefixEnd(prefix) }));
  const counts: Record<string, number> = {};
  for (const { value } of items) {
    const { apiVersion } = JSON.parse(value.toString("utf8"));
    counts[apiVersion] = (counts[apiVersion] ?? 0) + 1;
  }
  return counts;
}

async function stateOf(api: TestServer, name: string): Promise<StorageState> {
  return parseStorageState((await api.get(STATE)).body.data?.[name]);
}

describe("a pass", () => {
  test("does not write objects that are already stored in the current version", async () => {
    await using api = await startServer({ controllers: [] });
    await withConfigMaps(api, 30);
    const before = await metadataOf(api, CONFIG_MAPS);
    const outcome = await pass(api);
    expect(outcome).toMatchObject({ kind: "done", progress: { failed: 0 } });
    expect(outcome.progress.migrated).toBeGreaterThanOrEqual(30);
    expect(await metadataOf(api, CONFIG_MAPS)).toEqual(before);
  });

  test("continues at the current state when its list has expired", async () => {
    await using api = await startServer({ controllers: [] });
    await withConfigMaps(api, 520);
    let hasCompacted = false;
    const onPage = async ({ position }: MigrationProgress): Promise<void> => {
      if (position.continueToken === "" || hasCompacted) return;
      hasCompacted = true;
      await api.begin("POST", CONFIG_MAPS, configMap("later"));
      await api.kv.compact(await api.kv.currentRevision());
      const target = `/api/v1/configmaps?limit=1&continue=${encodeURIComponent(position.continueToken)}`;
      expect((await api.begin("GET", target)).status).toBe(410);
    };
    const outcome = await pass(api, { onPage });
    expect(hasCompacted).toBe(true);
    expect(outcome).toMatchObject({ kind: "done", progress: { failed: 0 } });
    expect(outcome.progress.migrated).toBeGreaterThanOrEqual(520);
  });

  test("resumes a list at the position where another process stopped", async () => {
    await using api = await startServer({ controllers: [] });
    await withConfigMaps(api, 520);
    const stop = new AbortController();
    const stopped = await pass(api, { signal: stop.signal, onPage: () => Promise.resolve(stop.abort()) });
    expect(stopped).toMatchObject({ kind: "stopped", progress: { migrated: 500 } });
    const { total, position } = stopped.progress;
    const resumed = await pass(api, { resumeAt: position });
    expect(resumed).toMatchObject({ kind: "done", progress: { migrated: total, total } });
  });

  test("counts an object that current validation rejects as a failure", async () => {
    await using api = await startServer({ controllers: [] });
    await withConfigMaps(api, 2);
    const key = "/registry/configmaps/default/c1000";
    const { items } = await api.world.run(api.kv.range({ start: key }));
    const { value, modRevision: expectedRevision } = items[0]!;
    const broken = Buffer.from(value.toString("utf8").replace('"a":"1"', '"a b":"1"'));
    await api.world.run(api.kv.commit({ kind: "put", key, value: broken, expectedRevision }));
    await api.world.advance(1_000);
    const { kind, progress } = await pass(api);
    expect({ kind, failed: progress.failed, objects: progress.failures.map(({ object }) => object) }).toEqual({
      kind: "done",
      failed: 1,
      objects: ["default/c1000"],
    });
  });
});

describe.each([
  ["1.37", "v1"],
  ["1.36", "v1beta1"],
  ["1.33", "v1alpha1"],
])("a StorageVersionMigration of release %s", (release, version) => {
  const path = `${MIGRATIONS}/${version}/storageversionmigrations`;

  const startWith = (): Promise<TestServer> =>
    startServer({
      release,
      runtimeConfig: [`storagemigration.k8s.io/${version}=true`],
      featureGates: ["StorageVersionMigrator=true"],
      controllers: [],
    });

  const migration = (name: string, resource: string): Json => ({
    apiVersion: `storagemigration.k8s.io/${version}`,
    kind: "StorageVersionMigration",
    metadata: { name },
    spec: { resource: { group: "", resource, ...(version === "v1alpha1" ? { version: "v1" } : {}) } },
  });

  async function reconcile(api: TestServer, name: string): Promise<Json> {
    const controller = createSvmController({ ...optionsFor(api), version, servesStorageVersions: false })!;
    await api.world.run(controller.reconcile(name, new AbortController().signal));
    return (await api.get(`${path}/${name}`)).body.status;
  }

  test("succeeds through status updates that the server accepts", async () => {
    await using api = await startWith();
    await withConfigMaps(api, 5);
    expect((await api.create(path, migration("first", "configmaps"))).status).toBe(201);
    const status = await reconcile(api, "first");
    expect(status.resourceVersion).toMatch(/^[1-9][0-9]*$/);
    expect(status.conditions).toMatchObject([
      { type: "Running", status: "False", reason: "MigrationCompleted", message: "Migration completed" },
      { type: "Succeeded", status: "True", reason: "StorageVersionMigrationSucceeded" },
    ]);
    expect(await reconcile(api, "first")).toEqual(status);
  });

  test("fails if its resource cannot be migrated", async () => {
    await using api = await startWith();
    await api.create(path, migration("first", "bindings"));
    const { conditions } = await reconcile(api, "first");
    expect(conditions).toMatchObject([
      { type: "Running", status: "False" },
      { type: "Failed", status: "True", reason: "StorageVersionMigrationFailed" },
    ]);
  });
});

describe("a server of another release", () => {
  const slice = (name: string): Json => ({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name },
    addressType: "IPv4",
    endpoints: [],
  });

  test("migrates the objects of the previous server automatically, and reports it", async () => {
    const world = new World({ seed: 5 });
    {
      await using old = await startServer({ world, release: "1.30", strictRelease: false });
      for (const name of ["a", "b", "c"]) expect((await old.create(SLICES, slice(name))).status).toBe(201);
      expect(await storedIn(old, "/registry/endpointslices/default/")).toEqual({ "discovery.k8s.io/v1beta1": 3 });
    }
    await using api = await startServer({ world, release: "1.31", strictRelease: false });
    const generations = (await metadataOf(api, SLICES)).map(({ generation }) => generation);
    await world.advance(300_000);
    expect(await storedIn(api, "/registry/endpointslices/default/")).toEqual({ "discovery.k8s.io/v1": 3 });
    expect(await stateOf(api, "discovery.k8s.io.endpointslices")).toMatchObject({
      persistedVersions: ["discovery.k8s.io/v1"],
      currentVersion: "discovery.k8s.io/v1",
    });
    expect((await metadataOf(api, SLICES)).map(({ generation }) => generation)).toEqual(generations);
  });

  test("does not migrate while the previous server is live", async () => {
    const world = new World({ seed: 6 });
    await using old = await startServer({ world, release: "1.30", strictRelease: false });
    await old.create(SLICES, slice("a"));
    await using api = await startServer({ world, release: "1.31", strictRelease: false });
    await world.advance(300_000);
    const { persistedVersions, verified } = await stateOf(api, "discovery.k8s.io.endpointslices");
    expect(verified).toBeUndefined();
    expect(persistedVersions).toContain("discovery.k8s.io/v1beta1");
    expect(await storedIn(api, "/registry/endpointslices/default/")).toEqual({ "discovery.k8s.io/v1beta1": 1 });
  });
});

test("a server whose resources are all verified writes nothing but heartbeats", async () => {
  await using api = await startServer({ strictRelease: false });
  await api.world.advance(120_000);
  const version = async (): Promise<number> => Number((await api.get(STATE)).body.metadata.resourceVersion);
  const before = await version();
  await api.world.advance(300_000);
  expect(await version()).toBe(before);
  await api.world.advance(600_000);
  expect(await version()).toBeGreaterThan(before);
});
