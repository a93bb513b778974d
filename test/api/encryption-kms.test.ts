/** Encryption with a KMS plugin: data keys, rotation, outages, and what clients see of them. */
import { describe, expect, test } from "vitest";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { encryption, fileOf, IDENTITY, keyed, KMS, ONE, WIDGETS } from "./encryption-config.ts";
import { InProcessKms } from "./in-process-kms.ts";
import { CONFIG_MAPS, configMap, names, startServer, type StartOptions, type TestServer } from "./start.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";
const HEADER = "k8s:enc:kms:v2:test:";
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

const WIDGETS_PATH = "/apis/example.com/v1/namespaces/default/widgets";

function secret(name: string): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: { password: "hunter2" } };
}

/** Servers of one world share one plugin and one store. */
class KmsTest {
  readonly world = new World({ seed: 1 });
  readonly kms = new InProcessKms(this.world.clock);

  server(options: StartOptions = {}): Promise<TestServer> {
    const config = encryption(["secrets"], KMS, IDENTITY);
    return startServer({ world: this.world, openKmsPlugin: this.kms.open, ...config, ...options });
  }
}

async function stored(api: TestServer, name = "s"): Promise<string> {
  const { items } = await api.kv.range({ start: `/registry/secrets/default/${name}` });
  return items[0]?.value.toString("latin1") ?? "";
}

test("a value is encrypted with a data key of the server, which another server asks the plugin for once", async () => {
  const t = new KmsTest();
  await using api = await t.server();
  for (const name of ["a", "b", "c"]) expect((await api.create(SECRETS, secret(name))).status).toBe(201);
  const value = await stored(api, "a");
  expect(value.startsWith(HEADER)).toBe(true);
  expect(value).not.toContain("aHVudGVyMg");
  expect(t.kms.service.calls).toEqual(["Status", "Encrypt"]);
  await using other = await t.server();
  expect((await other.get(`${SECRETS}/a`)).body.data).toEqual({ password: "aHVudGVyMg==" });
  expect(names(await other.get(SECRETS))).toEqual(["a", "b", "c"]);
  expect(t.kms.service.calls.filter((call) => call === "Decrypt")).toHaveLength(1);
});

describe("a watch", () => {
  test("receives all changes in order, although the first of them waits for the plugin", async () => {
    const t = new KmsTest();
    await using writer = await t.server();
    await using reader = await t.server();
    const [secrets, maps] = [
      await reader.watch(`${SECRETS}?watch=true`),
      await reader.watch(`${CONFIG_MAPS}?watch=true`),
    ];
    t.kms.latencyMs = 500;
    await writer.begin("POST", SECRETS, secret("a"));
    await writer.begin("POST", CONFIG_MAPS, configMap("b"));
    await writer.begin("POST", SECRETS, secret("c"));
    expect([await secrets.story(), await maps.story()]).toEqual([[], []]);
    await t.world.advance(600);
    expect([await secrets.story(), await maps.story()]).toEqual([["ADDED a", "ADDED c"], ["ADDED b"]]);
  });

  test("does not wait long for a plugin that does not respond, and recovers when its response arrives", async () => {
    const t = new KmsTest();
    await using writer = await t.server();
    await using reader = await t.server();
    const maps = await reader.watch(`${CONFIG_MAPS}?watch=true`);
    t.kms.latencyMs = MINUTE;
    await writer.begin("POST", SECRETS, secret("a"));
    await writer.begin("POST", CONFIG_MAPS, configMap("b"));
    await t.world.advance(4 * SECOND);
    expect(await maps.story()).toEqual(["ADDED b"]);
    const { status, body } = await reader.begin("GET", `${SECRETS}/a`);
    expect([status, body.message]).toEqual([500, expect.stringContaining("has not decrypted its data key")]);
    // Values with other data keys do not wait for the plugin again.
    t.kms.latencyMs = 0;
    await using third = await t.server();
    t.kms.latencyMs = MINUTE;
    await third.begin("POST", SECRETS, secret("b"));
    await third.begin("POST", CONFIG_MAPS, configMap("d"));
    await t.world.advance(0);
    expect(await maps.story()).toEqual(["ADDED d"]);
    await t.world.advance(2 * MINUTE);
    for (const name of ["a", "b"]) expect((await reader.begin("GET", `${SECRETS}/${name}`)).status).toBe(200);
  });
});

describe("an outage of the plugin", () => {
  test("makes values with unknown data keys unreadable, and nothing else, until the plugin is back", async () => {
    const t = new KmsTest();
    await using writer = await t.server();
    await writer.create(SECRETS, secret("a"));
    await writer.create(CONFIG_MAPS, configMap("c"));
    t.kms.isDown = true;
    await using reader = await t.server({ skipReady: true });
    await t.world.advance(SECOND);
    for (const path of [`${SECRETS}/a`, SECRETS, "/api/v1/secrets"]) {
      const { status, body } = await reader.get(path);
      expect([path, status]).toEqual([path, 500]);
      expect(body.message).toMatch(
        /"\/registry\/secrets\/default\/a".*"kms" with the key "test".*the plugin is down \(key ID sha256:[0-9a-f]{64}\)$/,
      );
    }
    expect(names(await reader.get(CONFIG_MAPS))).toContain("c");
    expect((await writer.get(`${SECRETS}/a`)).status).toBe(200);
    expect((await reader.get("/readyz/kms-providers")).text).toContain('kms-provider-0: the KMS plugin "test"');
    expect((await reader.get("/livez/kms-providers")).status).toBe(404);
    const before = (await writer.get(`${SECRETS}/a`)).body.metadata.resourceVersion;

    t.kms.isDown = false;
    await t.world.advance(4 * SECOND);
    expect((await reader.get("/readyz/kms-providers")).status).toBe(200);
    const { status, body } = await reader.get(`${SECRETS}/a`);
    expect([status, body.metadata.resourceVersion]).toEqual([200, before]);
    expect(names(await reader.get("/api/v1/secrets"))).toContain("a");
    expect(await reader.metric('evenkeel_storage_corrupt_objects{resource="secrets"}')).toBe(0);
  });

  test("is logged once with its reason, also at the start of a server, and once when the plugin is back", async () => {
    const t = new KmsTest();
    t.kms.isDown = true;
    const logged: string[] = [];
    const note = (message: string, fields: object = {}): void =>
      void (message.startsWith("KMS plugin") && logged.push(message + JSON.stringify(fields)));
    await using api = await t.server({
      skipReady: true,
      log: { debug: () => {}, info: note, warn: note, error: note },
    });
    await t.world.advance(MINUTE);
    expect((await api.get("/readyz")).status).toBe(500);
    const unhealthy = expect.stringMatching(
      /^KMS plugin unhealthy\{"plugin":"test","problem":"[^"]*the plugin is down/,
    );
    expect(logged).toEqual([unhealthy]);
    t.kms.isDown = false;
    await t.world.advance(MINUTE);
    t.kms.isDown = true;
    await t.world.advance(MINUTE);
    expect(logged).toEqual([unhealthy, 'KMS plugin healthy again{"plugin":"test"}', unhealthy]);
  });

  test("ends watches that cover an unreadable value with an error, and lets them list afterwards", async () => {
    const t = new KmsTest();
    await using writer = await t.server();
    await using reader = await t.server();
    const { body: list } = await reader.get(SECRETS);
    const watch = await reader.watch(`${SECRETS}?watch=true`);
    const elsewhere = await reader.watch("/api/v1/namespaces/kube-system/secrets?watch=true");
    t.kms.isDown = true;
    await writer.create(SECRETS, secret("a"));
    const [event] = await watch.events();
    expect([event.type, event.object.code]).toEqual(["ERROR", 500]);
    expect(event.object.message).toContain("/registry/secrets/default/a");
    expect([watch.isEnded, elsewhere.isEnded]).toEqual([true, false]);
    t.kms.isDown = false;
    await t.world.advance(30 * SECOND);
    expect(names(await reader.get(SECRETS))).toEqual(["a"]);
    const again = await reader.watch(`${SECRETS}?watch=true&resourceVersion=${list.metadata.resourceVersion}`);
    expect((await again.events()).map(({ object }) => object.code)).toEqual([410]);
    expect(elsewhere.isEnded).toBe(false);
  });

  test("at the start of a server that encrypts everything ends without a trace when the plugin is back", async () => {
    const t = new KmsTest();
    const everything = {
      ...encryption(["*.*"], KMS),
      access: { authorizationModes: ["RBAC"] as const, anonymousAuth: true },
    };
    let before: unknown;
    {
      await using writer = await t.server(everything);
      await writer.create(CONFIG_MAPS, configMap("c"));
      await writer.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS);
      await t.world.advance(5 * SECOND);
      const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" } };
      expect((await writer.create(WIDGETS_PATH, widget)).status).toBe(201);
      before = (await writer.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")).body.items;
    }
    t.kms.isDown = true;
    await using reader = await t.server({ ...everything, skipReady: true });
    await t.world.advance(10 * SECOND);
    // Anonymous users may read the version by a ClusterRole, which is encrypted, too.
    const anonymous = async (): Promise<number> =>
      (await reader.call("GET", "/version", undefined, { asClient: true })).status;
    expect(await anonymous()).not.toBe(200);
    expect((await reader.get("/readyz")).status).toBe(500);
    expect((await reader.get(`${CONFIG_MAPS}/c`)).status).toBeGreaterThanOrEqual(500);
    t.kms.isDown = false;
    await t.world.advance(30 * SECOND);
    expect((await reader.get("/readyz")).status).toBe(200);
    expect((await reader.get(`${CONFIG_MAPS}/c`)).status).toBe(200);
    expect((await reader.get(`${WIDGETS_PATH}/w`)).status).toBe(200);
    expect((await reader.get("/apis/rbac.authorization.k8s.io/v1/clusterroles")).body.items).toEqual(before);
    expect(await anonymous()).toBe(200);
    expect(await reader.metric('evenkeel_storage_corrupt_objects{resource="configmaps"}')).toBe(0);
  });

  test("does not keep a server from starting, and another configuration from being loaded, however long its timeout is", async () => {
    const t = new KmsTest();
    const slow = { kms: { ...KMS.kms, timeout: "24h" } };
    t.kms.latencyMs = 24 * 60 * MINUTE;
    let providers: object[] = [slow, IDENTITY];
    const read = (): string => fileOf([{ resources: ["secrets"], providers }]);
    const starting = t.server({ skipReady: true, encryption: { read, reloads: true } });
    await t.world.advance(11 * SECOND);
    await using api = await starting;
    expect((await api.get("/readyz/kms-providers")).text).toContain("the KMS plugin does not respond");
    expect((await api.create(CONFIG_MAPS, configMap("c"))).status).toBe(201);
    providers = [{ kms: { ...slow.kms, name: "other" } }, IDENTITY];
    await t.world.advance(2 * MINUTE);
    expect((await api.create(SECRETS, secret("a"))).status).toBe(503);
    providers = [keyed("aesgcm", ["one", ONE]), IDENTITY];
    await t.world.advance(3 * MINUTE);
    expect((await api.create(SECRETS, secret("a"))).status).toBe(201);
  });

  test("lets the server write for three minutes, and then makes writes fail with Retry-After", async () => {
    const t = new KmsTest();
    await using api = await t.server();
    t.kms.isDown = true;
    await t.world.advance(2 * MINUTE);
    expect((await api.create(SECRETS, secret("a"))).status).toBe(201);
    await t.world.advance(2 * MINUTE);
    const { status, body } = await api.create(SECRETS, secret("b"));
    expect([status, body.details.retryAfterSeconds]).toEqual([503, 1]);
    expect(body.message).toContain('the KMS plugin "test" has not confirmed its key');
    expect((await api.get(`${SECRETS}/a`)).status).toBe(200);
    expect((await api.create(CONFIG_MAPS, configMap("c"))).status).toBe(201);
    t.kms.isDown = false;
    await t.world.advance(4 * SECOND);
    expect((await api.create(SECRETS, secret("b"))).status).toBe(201);
  });
});

describe("a rotated key of the plugin", () => {
  test("is used for new values, and for unchanged updates of old ones, so that the old key can be retired", async () => {
    const t = new KmsTest();
    await using api = await t.server();
    await api.create(SECRETS, secret("s"));
    const replaced = async (): Promise<string> => {
      const { body } = await api.get(`${SECRETS}/s`);
      return (await api.put(`${SECRETS}/s`, body)).body.metadata.resourceVersion;
    };
    const first = await replaced();
    expect(await replaced()).toBe(first);
    t.kms.service.keyId = "key-2";
    await t.world.advance(30 * SECOND);
    expect(await stored(api)).toContain("key-1");
    const second = await replaced();
    expect(second).not.toBe(first);
    expect(await stored(api)).toContain("key-2");
    expect(await replaced()).toBe(second);
    t.kms.service.retired.add("key-1");
    await using other = await t.server();
    expect((await other.get(`${SECRETS}/s`)).status).toBe(200);
  });

  test("that is retired costs one call for its data key in each interval, no reads of the store and one warning", async () => {
    const t = new KmsTest();
    {
      await using writer = await t.server();
      for (const name of ["a", "b", "c"]) await writer.create(SECRETS, secret(name));
    }
    t.kms.service.keyId = "key-2";
    t.kms.service.retired.add("key-1");
    let reads = 0;
    const logged: string[] = [];
    const note = (message: string): void => void logged.push(message);
    await using reader = await t.server({
      log: { debug: () => {}, info: note, warn: note, error: note },
      wrapKv: (kv) =>
        overlaidKv(kv, {
          range(request) {
            if (request.start.startsWith("/registry/secrets/")) reads++;
            return kv.range(request);
          },
        }),
    });
    await t.world.advance(10 * SECOND);
    t.kms.service.calls.length = 0;
    await t.world.advance(60 * MINUTE);
    expect(t.kms.service.calls.filter((call) => call === "Decrypt")).toHaveLength(180);
    expect(reads).toBe(0);
    expect(logged.filter((line) => /second time|cannot be decoded/.test(line))).toEqual([
      "stored values cannot be decoded",
    ]);
    expect((await reader.get(SECRETS)).status).toBe(500);
    t.kms.service.retired.clear();
    await t.world.advance(25 * SECOND);
    expect(names(await reader.get(SECRETS))).toEqual(["a", "b", "c"]);
    expect(reads).toBe(3);
  });

  test("that is retired while values are encrypted with it makes these values unreadable", async () => {
    const t = new KmsTest();
    await using api = await t.server();
    await api.create(SECRETS, secret("s"));
    t.kms.service.keyId = "key-2";
    t.kms.service.retired.add("key-1");
    await using other = await t.server();
    expect((await other.get(`${SECRETS}/s`)).body.message).toContain("the key key-1 is retired");
    expect((await other.put(`${SECRETS}/s`, secret("s"))).status).toBe(500);
  });
});

test("metrics name key IDs by their hashes, and contain no secret", async () => {
  const t = new KmsTest();
  await using api = await t.server();
  await api.create(SECRETS, secret("s"));
  const { text } = await api.get("/metrics");
  const lines = text.split("\n").filter((line) => /envelope|transformation|encryption/.test(line));
  const series = (name: string): string => lines.find((line) => line.startsWith(name)) ?? "";
  expect(series("apiserver_envelope_encryption_key_id_hash_total")).toMatch(
    /to_storage.*key_id_hash="sha256:[0-9a-f]{64}"/,
  );
  expect(series("apiserver_envelope_encryption_dek_source_cache_size")).toContain('{provider_name="test"} 1');
  expect(series("apiserver_envelope_encryption_kms_operations_latency_seconds_count")).toContain("OK");
  expect(series("apiserver_storage_transformation_operations_total")).toContain(`transformer_prefix="${HEADER}"`);
  expect(text).not.toContain("key-1");
});
