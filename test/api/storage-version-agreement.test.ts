/**
 * Tests of servers that share a store and agree on encodings. Each test runs whole servers in its own simulated world.
 */
import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { type Change, type CommitResult, type Kv, StorageError } from "../../src/storage/kv.ts";
import {
  CONFIG_MAPS,
  configMap,
  deployment,
  startServer,
  type Json,
  type StartOptions,
  type TestServer,
} from "./start.ts";
import { store } from "./corrupt-values.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";

const STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
const KEYS = "/registry/storageversions/";
const CLAIMS = "namespaces/default/resourceclaims";

const start = (options: StartOptions): Promise<TestServer> => startServer({ strictRelease: false, ...options });

async function storageVersion(server: TestServer, name: string): Promise<Json> {
  return (await server.get(`${STORAGE_VERSIONS}/${name}`)).body;
}

/** The encoding version of each server's entry in the StorageVersion of the resource. */
async function encodings(server: TestServer, name: string): Promise<string[]> {
  const { status } = await storageVersion(server, name);
  return (status.storageVersions ?? []).map(({ encodingVersion }: Json) => encodingVersion);
}

async function storedVersion(server: TestServer, key: string): Promise<string> {
  const { items } = await server.kv.range({ start: key });
  return JSON.parse(items[0]!.value.toString("utf8")).apiVersion;
}

function committing(kv: Kv, commit: (change: Change) => Promise<CommitResult>): Kv {
  return overlaidKv(kv, { commit });
}

const HEALTH = 'kubernetes_healthcheck{name="poststarthook/built-in-resources-storage-version-updater",type="readyz"}';

const asClient = { asClient: true, headers: { authorization: "Bearer t" } };
const tokenFile = 't,admin,1,"system:masters"';

describe("before a server has published its StorageVersion entries,", () => {
  const start503 = async (held: (key: string) => boolean): Promise<{ server: TestServer; release: () => void }> => {
    const gate = Promise.withResolvers<void>();
    const server = await start({
      skipReady: true,
      tokenFile,
      wrapKv: (kv) =>
        committing(kv, async (change) => {
          if (held(change.key)) await gate.promise;
          return kv.commit(change);
        }),
    });
    await server.world.advance(2_000);
    return { server, release: () => gate.resolve() };
  };
  const write = (server: TestServer, path: string, body: Json): Promise<Json> =>
    server.call("POST", path, body, asClient);
  const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "a.b.c" } };

  test("the server rejects writes of stored resources with 503 and the reason, and serves other requests", async () => {
    const { server, release } = await start503((key) => key.startsWith(KEYS));
    const blocked = await write(server, "/api/v1/namespaces/kube-system/configmaps", configMap("a"));
    expect(blocked).toMatchObject({
      status: 503,
      headers: { "retry-after": "1" },
      body: {
        reason: "ServiceUnavailable",
        message: "wait for storage version registration to complete for resource: configmaps",
        details: { retryAfterSeconds: 1 },
      },
    });
    expect(await write(server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)).toMatchObject({
      status: 503,
      body: {
        message:
          "wait for storage version registration to complete for resource: customresourcedefinitions.apiextensions.k8s.io",
      },
    });
    expect((await write(server, "/apis/apiregistration.k8s.io/v1/apiservices", {})).status).toBe(503);
    // Stricter than kubernetes: only the server itself can write StorageVersions.
    expect((await write(server, STORAGE_VERSIONS, { metadata: { name: "a.b" } })).status).toBe(503);
    const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: {} };
    expect((await write(server, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)).status).not.toBe(
      503,
    );
    expect((await server.call("GET", "/api/v1/namespaces", undefined, asClient)).status).toBe(200);
    const ready = await server.get("/readyz?verbose");
    expect(ready.status).toBe(500);
    expect(ready.text).toContain("[-]poststarthook/built-in-resources-storage-version-updater failed");
    expect((await server.get("/metrics/slis")).text).toContain(`${HEALTH} 0\n`);
    release();
    await server.world.run(server.server.ready);
    expect((await write(server, CONFIG_MAPS, configMap("a"))).status).toBe(201);
    await server.world.advance(10_000);
    expect((await server.get("/metrics/slis")).text).toContain(`${HEALTH} 1\n`);
    await server[Symbol.asyncDispose]();
  });

  test("an entry that is slow to publish does not delay the entries of other resources", async () => {
    const { server, release } = await start503((key) => key === `${KEYS}apps.deployments`);
    const made = await write(server, "/api/v1/namespaces/kube-system/configmaps", configMap("a"));
    expect(made.status).toBe(201);
    const blocked = await write(server, "/apis/apps/v1/namespaces/kube-system/deployments", deployment("a"));
    expect(blocked.status).toBe(503);
    expect(blocked.body.message).toContain("for resource: deployments.apps");
    release();
    await server.world.run(server.server.ready);
    await server[Symbol.asyncDispose]();
  });

  test("a failed publication is retried within seconds, and rejected writes report its error meanwhile", async () => {
    let failures = 0;
    const server = await start({
      skipReady: true,
      tokenFile,
      wrapKv: (kv) =>
        committing(kv, (change) => {
          if (change.key !== `${KEYS}apps.deployments` || failures >= 8) return kv.commit(change);
          failures++;
          return Promise.reject(new StorageError("unavailable", "the disk is on fire"));
        }),
    });
    await server.world.advance(200);
    const blocked = await write(server, "/apis/apps/v1/namespaces/kube-system/deployments", deployment("a"));
    expect(blocked.body.message).toContain("for resource: deployments.apps, last seen error: ");
    await server.world.advance(10_000);
    expect(failures).toBe(8);
    expect((await server.get("/readyz")).status).toBe(200);
    await server[Symbol.asyncDispose]();
  });
});

test("a restart without changes writes no StorageVersion", async () => {
  const world = new World({ seed: 1 });
  const peers = { hostname: "one" };
  const first = await start({ world, peers });
  await first[Symbol.asyncDispose]();
  const written: string[] = [];
  const second = await start({
    world,
    peers,
    wrapKv: (kv) =>
      committing(kv, (change) => {
        if (change.key.startsWith(KEYS)) written.push(change.key);
        return kv.commit(change);
      }),
  });
  await world.advance(20_000);
  expect(written).toEqual([]);
  expect((await storageVersion(second, "apps.deployments")).status).toMatchObject({
    commonEncodingVersion: "apps/v1",
    conditions: [{ type: "AllEncodingVersionsEqual", status: "True", reason: "CommonEncodingVersionSet" }],
  });
  await second[Symbol.asyncDispose]();
});

describe("with servers of two releases,", () => {
  const claim = (name: string): Json => ({
    metadata: { name },
    spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c" } }] } },
  });

  test("servers that write different versions have no common version, and both can decode every write", async () => {
    const world = new World({ seed: 1 });
    const older = await start({ world, release: "1.34" });
    const newer = await start({ world, release: "1.35" });
    await world.advance(5_000);
    const name = "resource.k8s.io.resourceclaims";
    expect((await encodings(newer, name)).sort()).toEqual(["resource.k8s.io/v1", "resource.k8s.io/v1beta2"]);
    const { status } = await storageVersion(newer, name);
    expect(status.commonEncodingVersion).toBeUndefined();
    expect(status.conditions).toMatchObject([{ status: "False", reason: "CommonEncodingVersionUnset" }]);
    for (const [server, made, version] of [
      [older, "a", "resource.k8s.io/v1beta2"],
      [newer, "b", "resource.k8s.io/v1"],
    ] as const) {
      expect((await server.call("POST", `/apis/resource.k8s.io/v1/${CLAIMS}`, claim(made))).status).toBe(201);
      expect(await storedVersion(server, `/registry/resourceclaims/default/${made}`)).toBe(version);
    }
    for (const server of [older, newer])
      expect((await server.get(`/apis/resource.k8s.io/v1/${CLAIMS}`)).body.items).toHaveLength(2);
    await older[Symbol.asyncDispose]();
    await world.advance(5_000);
    expect((await storageVersion(newer, name)).status.commonEncodingVersion).toBe("resource.k8s.io/v1");
    await newer[Symbol.asyncDispose]();
  });

  test("the newer server switches to a version that a joining older server can decode, before its next write", async () => {
    const world = new World({ seed: 1 });
    const runtimeConfig = ["resource.k8s.io/v1beta1=true", "resource.k8s.io/v1beta2=true"];
    const newer = await start({ world, release: "1.35", runtimeConfig });
    const name = "resource.k8s.io.resourceclaims";
    expect(await encodings(newer, name)).toEqual(["resource.k8s.io/v1"]);
    const older = await start({ world, release: "1.33", runtimeConfig });
    // 1.33 decodes v1beta1, v1beta2 and v1alpha3, and writes v1beta1.
    await world.advance(100);
    expect(await encodings(newer, name)).toEqual(["resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1"]);
    const made = await newer.call("POST", `/apis/resource.k8s.io/v1/${CLAIMS}`, claim("a"));
    expect(made.status).toBe(201);
    expect(await storedVersion(newer, "/registry/resourceclaims/default/a")).toBe("resource.k8s.io/v1beta2");
    expect((await older.get(`/apis/resource.k8s.io/v1beta1/${CLAIMS}/a`)).status).toBe(200);
    await older[Symbol.asyncDispose]();
    await world.advance(5_000);
    expect(await encodings(newer, name)).toEqual(["resource.k8s.io/v1"]);
    // A patch without changes rewrites an object that is stored in another version.
    const patched = await newer.call(
      "PATCH",
      `/apis/resource.k8s.io/v1/${CLAIMS}/a`,
      {},
      {
        headers: { "content-type": "application/merge-patch+json" },
      },
    );
    expect(patched.body.metadata.resourceVersion).not.toBe(made.body.metadata.resourceVersion);
    expect(await storedVersion(newer, "/registry/resourceclaims/default/a")).toBe("resource.k8s.io/v1");
    await newer[Symbol.asyncDispose]();
  });

  test("an older server reports stored objects that it cannot decode, and rejects writes of their resource", async () => {
    const world = new World({ seed: 1 });
    const runtimeConfig = ["resource.k8s.io/v1beta1=true"];
    const newer = await start({ world, release: "1.35" });
    await newer.call("POST", `/apis/resource.k8s.io/v1/${CLAIMS}`, claim("a"));
    await newer[Symbol.asyncDispose]();
    const older = await start({ world, release: "1.33", runtimeConfig });
    await world.advance(100);
    const rejected = await older.call("POST", `/apis/resource.k8s.io/v1beta1/${CLAIMS}`, {
      metadata: { name: "b" },
      spec: { devices: { requests: [{ name: "r", deviceClassName: "c" }] } },
    });
    expect(rejected).toMatchObject({
      status: 503,
      headers: { "retry-after": "1" },
      body: {
        message:
          "resourceclaims.resource.k8s.io cannot be written now: release 1.33 cannot read resource.k8s.io/v1, in which default/a are stored",
      },
    });
    const gauge = 'evenkeel_storage_version_unreadable_objects{resource="resource.k8s.io.resourceclaims"}';
    expect(await older.metric(gauge)).toBe(1);
    expect((await older.call("POST", CONFIG_MAPS, configMap("a"))).status).toBe(201);
    expect((await older.delete(`/apis/resource.k8s.io/v1beta1/${CLAIMS}/a`)).status).toBe(200);
    expect(await older.metric(gauge)).toBe(0);
    await older[Symbol.asyncDispose]();
  });

  test("a server notices objects that another program stores later in a version that it cannot decode", async () => {
    await using server = await start({ release: "1.33", runtimeConfig: ["resource.k8s.io/v1beta1=true"] });
    const gauge = 'evenkeel_storage_version_unreadable_objects{resource="resource.k8s.io.resourceclaims"}';
    const post = async (name: string): Promise<Json> => {
      const spec = { devices: { requests: [{ name: "r", deviceClassName: "c" }] } };
      return server.call("POST", `/apis/resource.k8s.io/v1beta1/${CLAIMS}`, { metadata: { name }, spec });
    };
    const put = async (name: string, apiVersion: string): Promise<void> => {
      const metadata = { name, namespace: "default", uid: name };
      await store(
        server,
        JSON.stringify({ kind: "ResourceClaim", apiVersion, metadata, spec: {} }),
        `/registry/resourceclaims/default/${name}`,
      );
    };
    await server.world.advance(5_000);
    expect([(await post("a")).status, await server.metric(gauge)]).toEqual([201, 0]);
    await put("x", "resource.k8s.io/v1");
    const rejected = await post("b");
    expect([rejected.status, await server.metric(gauge)]).toEqual([503, 1]);
    expect(rejected.body.message).toMatch(
      /release 1.33 cannot read resource.k8s.io\/v1, in which default\/x are stored$/,
    );
    await put("y", "resource.k8s.io/v1");
    await put("x", "resource.k8s.io/v1beta1");
    await server.world.advance(1_000);
    const still = await post("b");
    expect([still.status, await server.metric(gauge)]).toEqual([503, 1]);
    expect(still.body.message).toMatch(/default\/y are stored$/);
    await server.delete(`/apis/resource.k8s.io/v1beta1/${CLAIMS}/y`);
    expect([(await post("b")).status, await server.metric(gauge)]).toEqual([201, 0]);
  });
});

describe("a delete that is committed by an old view", () => {
  const KEY = `${KEYS}core.configmaps`;

  /** Removes all entries from the StorageVersion, as peers do if they treat the server as departed. */
  async function dropEntries(kv: Kv): Promise<void> {
    const [item] = (await kv.range({ start: KEY })).items;
    const object: Json = JSON.parse(item!.value.toString("utf8"));
    const value = Buffer.from(JSON.stringify({ ...object, status: { ...object.status, storageVersions: [] } }));
    await kv.commit({ kind: "put", key: KEY, value, expectedRevision: item!.modRevision });
  }

  test("deletes nothing and gets 503 if peers have treated the server as departed, and succeeds when repeated", async () => {
    let beforeDelete: () => Promise<void> = () => Promise.resolve();
    const attempts: string[] = [];
    const server = await start({
      wrapKv: (kv) =>
        committing(kv, async (change) => {
          if (change.kind === "delete" && change.key.endsWith("/default/a")) {
            attempts.push(change.key);
            await beforeDelete();
          }
          return kv.commit(change);
        }),
    });
    await server.create(CONFIG_MAPS, configMap("a"));
    beforeDelete = () => (attempts.length === 1 ? dropEntries(server.kv) : Promise.resolve());
    const response = await server.delete(`${CONFIG_MAPS}/a`);
    expect(response).toMatchObject({ status: 503, body: { details: { retryAfterSeconds: 1 } } });
    expect(response.body.message).toContain("other servers treat this server as departed");
    expect((await server.get(`${CONFIG_MAPS}/a`)).status).toBe(200);
    expect(attempts).toHaveLength(1);
    await server.world.advance(10_000);
    expect((await server.delete(`${CONFIG_MAPS}/a`)).status).toBe(200);
    expect(attempts).toHaveLength(2);
    await server[Symbol.asyncDispose]();
  });
});

describe("the automatic migration", () => {
  const claims = "resource.k8s.io.resourceclaims";
  const state = async (server: TestServer): Promise<Json> => {
    const { body } = await server.get("/api/v1/namespaces/kube-system/configmaps/evenkeel-storage-state");
    return JSON.parse(body.data[claims]);
  };
  const claim = (name: string): Json => ({
    metadata: { name },
    spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "c" } }] } },
  });

  test("skips objects that are stored in the agreed version, and rewrites the rest", async () => {
    const world = new World({ seed: 1 });
    const peers = { hostname: "one" };
    const older = await start({ world, peers, release: "1.34" });
    await older.call("POST", `/apis/resource.k8s.io/v1/${CLAIMS}`, claim("a"));
    await world.advance(5_000);
    expect((await state(older)).persistedVersions).toEqual(["resource.k8s.io/v1beta2"]);
    const migrated = `evenkeel_storage_migration_objects_total{resource="${claims}",result="migrated"}`;
    expect(await older.metric(migrated)).toBe(0);
    await older[Symbol.asyncDispose]();
    const newer = await start({ world, peers, release: "1.35" });
    await world.advance(20_000);
    expect((await state(newer)).persistedVersions).toEqual(["resource.k8s.io/v1"]);
    expect(await newer.metric(migrated)).toBe(1);
    expect(await storedVersion(newer, "/registry/resourceclaims/default/a")).toBe("resource.k8s.io/v1");
    await newer[Symbol.asyncDispose]();
  });
});

describe("the feature gate StorageVersionAPI", () => {
  test("can be turned off with its API and on again without losing objects, and every StorageVersion is correct afterwards", async () => {
    const world = new World({ seed: 1 });
    const peers = { hostname: "one" };
    const first = await start({ world, peers });
    await first.call("POST", CONFIG_MAPS, configMap("a"));
    await first[Symbol.asyncDispose]();
    const off = await start({
      world,
      peers,
      release: "1.35",
      runtimeConfig: ["internal.apiserver.k8s.io/v1alpha1=false"],
    });
    // Until the grace period of the departed server is over, requests for resources that only this server served return
    // 503 instead of 404.
    expect((await off.get(STORAGE_VERSIONS)).status).toBe(503);
    await world.advance(12 * 60_000);
    expect((await off.get(STORAGE_VERSIONS)).status).toBe(404);
    expect((await off.call("POST", CONFIG_MAPS, configMap("b"))).status).toBe(201);
    await off[Symbol.asyncDispose]();
    const on = await start({ world, peers, release: "1.35" });
    expect((await on.get(CONFIG_MAPS)).body.items).toHaveLength(2);
    // The StorageVersion of a resource that only the newer release stored has no entry left. It is deleted after a
    // while.
    await world.advance(20_000);
    const { items } = (await on.get(STORAGE_VERSIONS)).body;
    for (const { metadata, status } of items) {
      expect(status.storageVersions, metadata.name).toHaveLength(1);
      expect(status.conditions, metadata.name).toMatchObject([{ status: "True" }]);
    }
    await on[Symbol.asyncDispose]();
  });

  test("if disabled on one server makes the condition of every StorageVersion Unknown, and no version counts as agreed or migrated until that server has departed", async () => {
    const world = new World({ seed: 1 });
    const peers = { hostname: "one" };
    const off = { featureGates: ["StorageVersionAPI=false"] };
    const other = await start({ world, release: "1.35" });
    const first = await start({ world, peers, release: "1.35" });
    await world.advance(10_000);
    const state = (): Promise<Json> => other.get("/api/v1/namespaces/kube-system/configmaps/evenkeel-storage-state");
    expect((await state()).status).toBe(200);
    await first[Symbol.asyncDispose]();
    const outside = await start({ world, peers, release: "1.34", ...off });
    const name = "resource.k8s.io.resourceclaims";
    const { status } = await storageVersion(other, name);
    expect(status).toMatchObject({ conditions: [{ status: "Unknown", reason: "ServersPending" }] });
    expect(status.commonEncodingVersion).toBeUndefined();
    expect(await encodings(other, name)).toEqual(["resource.k8s.io/v1"]);
    await world.advance(30_000);
    expect((await storageVersion(other, name)).status).toEqual(status);
    const noted = (await state()).body?.data?.[name];
    expect(JSON.parse(noted ?? "{}").persistedVersions ?? []).not.toEqual(["resource.k8s.io/v1"]);
    await outside[Symbol.asyncDispose]();
    await world.advance(30_000);
    expect((await storageVersion(other, name)).status.commonEncodingVersion).toBe("resource.k8s.io/v1");
    await other[Symbol.asyncDispose]();
  });

  test.each([
    [{ featureGates: ["StorageVersionAPI=false"] }, 200],
    [{ runtimeConfig: ["internal.apiserver.k8s.io/v1alpha1=false"] }, 404],
    [{ strictRelease: true }, 404],
    [{ strictRelease: true, runtimeConfig: ["internal.apiserver.k8s.io/v1alpha1=true"] }, 200],
  ])("publishes no StorageVersion with the options %j", async (options, status) => {
    const server = await start(options);
    const response = await server.get(STORAGE_VERSIONS);
    expect(response.status).toBe(status);
    expect(response.body?.items ?? []).toEqual([]);
    await server[Symbol.asyncDispose]();
  });

  test("is rejected with an explanation if the API or the feature gate that it requires is disabled", async () => {
    await expect(
      start({
        featureGates: ["StorageVersionAPI=true"],
        runtimeConfig: ["internal.apiserver.k8s.io/v1alpha1=false"],
      }),
    ).rejects.toThrow(
      "the feature gate StorageVersionAPI requires its API: add --runtime-config=internal.apiserver.k8s.io/v1alpha1=true",
    );
    await expect(start({ featureGates: ["StorageVersionAPI=true", "APIServerIdentity=false"] })).rejects.toThrow(
      "the feature gate StorageVersionAPI requires the feature gate APIServerIdentity",
    );
  });
});
