/** A migration by request after the first key has changed: every object is encrypted with the new key. */
import { expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { encryption, IDENTITY, keyed, ONE, TWO } from "./encryption-config.ts";
import { startServer, type Json, type StartOptions, type TestServer } from "./start.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";
const MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations";
const FOREVER_MS = 120_000;

async function start(options: StartOptions): Promise<TestServer> {
  const api = await startServer({
    strictRelease: false,
    runtimeConfig: ["storagemigration.k8s.io/v1beta1=true"],
    featureGates: ["StorageVersionMigrator=true"],
    controllers: ["storage-version-migrator-controller"],
    ...options,
  });
  await api.world.advance(30_000);
  return api;
}

async function headers(api: TestServer): Promise<readonly string[]> {
  const { items } = await api.kv.range({ start: "/registry/secrets/default/", end: "/registry/secrets/default0" });
  return items.map(({ value }) => value.toString("latin1", 0, 22));
}

test("a StorageVersionMigration encrypts Secrets in clear, or with another key, with the first key", async () => {
  const world = new World({ seed: 1 });
  const secret = (name: string): Json => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    data: { a: "aGk=" },
  });
  {
    await using clear = await start({ world });
    await clear.create(SECRETS, secret("clear"));
  }
  {
    await using before = await start({ world, ...encryption(["secrets"], keyed("aesgcm", ["one", ONE]), IDENTITY) });
    await before.create(SECRETS, secret("old"));
  }
  const rotating = encryption(["secrets"], keyed("aesgcm", ["two", TWO], ["one", ONE]), IDENTITY);
  await using api = await start({ world, ...rotating });
  await api.create(SECRETS, secret("z-new"));
  expect(await headers(api)).toEqual([
    expect.stringMatching(/^\{/),
    "k8s:enc:aesgcm:v1:one:",
    "k8s:enc:aesgcm:v1:two:",
  ]);
  const { body: unchanged } = await api.get(`${SECRETS}/z-new`);
  await api.create(MIGRATIONS, {
    apiVersion: "storagemigration.k8s.io/v1beta1",
    kind: "StorageVersionMigration",
    metadata: { name: "m" },
    spec: { resource: { group: "", resource: "secrets" } },
  });
  await api.world.advance(FOREVER_MS);
  const { body } = await api.get(`${MIGRATIONS}/m`);
  expect(body.status.conditions.find(({ type }: Json) => type === "Succeeded")).toMatchObject({ status: "True" });
  expect(await headers(api)).toEqual(Array(3).fill("k8s:enc:aesgcm:v1:two:"));
  expect((await api.get(`${SECRETS}/z-new`)).body).toEqual(unchanged);
  await using retired = await start({ world, ...encryption(["secrets"], keyed("aesgcm", ["two", TWO])) });
  expect((await retired.get(SECRETS)).body.items).toHaveLength(3);
});

test("a resource of unknown state is migrated if a value is sealed with another key than the first, or lacks defaults", async () => {
  const autoscalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
  const key = "/registry/horizontalpodautoscalers/default/a";
  const autoscaler = {
    ...{
      kind: "HorizontalPodAutoscaler",
      apiVersion: "autoscaling/v2",
      metadata: { name: "a", namespace: "default", uid: "u" },
    },
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 3 },
  };
  const encrypted = encryption(["horizontalpodautoscalers.autoscaling"], keyed("aesgcm", ["one", ONE]), IDENTITY);
  for (const isEncrypted of [true, false]) {
    const world = new World({ seed: 1 });
    let value = JSON.stringify(autoscaler);
    if (isEncrypted) {
      await using complete = await startServer({ world: new World({ seed: 2 }) });
      expect((await complete.create(autoscalers, autoscaler)).body).toMatchObject({ metadata: { name: "a" } });
      value = String((await complete.kv.range({ start: key })).items[0]?.value);
    }
    const kv = world.openKv();
    await kv.commit({ kind: "put", key, value: Buffer.from(value), expectedRevision: 0 });
    const controllers = ["storage-version-migrator"];
    await using api = await startServer({
      world,
      controllers,
      strictRelease: false,
      ...(isEncrypted ? encrypted : {}),
    });
    await api.world.advance(5 * FOREVER_MS);
    const { items } = await kv.range({ start: key });
    const stored = items[0]?.value.toString("latin1") ?? "";
    expect(stored).toMatch(isEncrypted ? /^k8s:enc:aesgcm:v1:one:/ : /"minReplicas":1/);
    await kv.close();
  }
});
