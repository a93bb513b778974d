/** Encryption at rest: what the store contains, what a server without the key shows, and how keys are rotated. */
import { describe, expect, test } from "vitest";
import { store } from "./corrupt-values.ts";
import { encryption, encryptionOf, IDENTITY, keyed, ONE, TWO, WIDGETS, type Provider } from "./encryption-config.ts";
import { CONFIG_MAPS, configMap, names, startServer, type Json, type TestServer } from "./start.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";
const KEY = "/registry/secrets/default/s";
const SECRET = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { password: "hunter2" } };

async function stored(api: TestServer, key = KEY): Promise<string> {
  const { items } = await api.kv.range({ start: key });
  return items[0]?.value.toString("latin1") ?? "";
}

const first = encryption(["secrets"], keyed("aesgcm", ["one", ONE]), IDENTITY);
const rotating = encryption(["secrets"], keyed("aesgcm", ["two", TWO], ["one", ONE]), IDENTITY);
const retired = encryption(["secrets"], keyed("aesgcm", ["two", TWO]), IDENTITY);

test("names of resources that Kubernetes does not have are logged, except for those of custom resources", async () => {
  const logged: object[] = [];
  const log = { debug: () => {}, info: () => {}, warn: (_: string, fields?: object) => void logged.push(fields ?? {}) };
  const named = ["secrets", "*.apps", "events", "widgets.example.com", "secretz", "deployments", "deployments.batch"];
  await using api = await startServer({
    ...encryption(named, keyed("aesgcm", ["one", ONE])),
    log: { ...log, error: () => {} },
  });
  expect((await api.get(SECRETS)).status).toBe(200);
  expect(logged.filter((fields) => "resource" in fields)).toEqual([
    { resource: "secretz", didYouMean: "secrets" },
    { resource: "deployments", didYouMean: "deployments.apps" },
    { resource: "deployments.batch", didYouMean: "deployments.apps" },
  ]);
});

describe("a configured resource", () => {
  test.each(["aesgcm", "aescbc", "secretbox"])("is encrypted with %s in the store and nowhere else", async (kind) => {
    await using api = await startServer(encryption(["secrets"], keyed(kind, ["one", ONE]), IDENTITY));
    const watch = await api.watch(`${SECRETS}?watch=true`);
    expect((await api.create(SECRETS, SECRET)).body.data).toEqual({ password: "aHVudGVyMg==" });
    await api.create(CONFIG_MAPS, configMap("c"));
    const value = await stored(api);
    expect(value).toMatch(new RegExp(`^k8s:enc:${kind}:v1:one:`));
    expect(value).not.toContain("aHVudGVyMg");
    expect(await stored(api, "/registry/configmaps/default/c")).toMatch(/^\{/);
    expect((await api.get(`${SECRETS}/s`)).body.data).toEqual({ password: "aHVudGVyMg==" });
    expect(names(await api.get(SECRETS))).toEqual(["s"]);
    expect(await watch.story()).toEqual(["ADDED s"]);
    await using other = await startServer({
      ...encryption(["secrets"], keyed(kind, ["one", ONE]), IDENTITY),
      world: api.world,
    });
    expect((await other.get(`${SECRETS}/s`)).body.data).toEqual({ password: "aHVudGVyMg==" });
    expect((await other.mergePatch(`${SECRETS}/s`, { metadata: { labels: { a: "b" } } })).status).toBe(200);
    expect((await api.get(`${SECRETS}/s`)).body.metadata.labels).toEqual({ a: "b" });
    expect((await api.delete(`${SECRETS}/s`)).status).toBe(200);
    expect(await watch.story()).toEqual(["MODIFIED s", "DELETED s"]);
  });

  test("with a wildcard includes custom resources, and never the records of servers", async () => {
    await using api = await startServer(encryption(["*.*"], keyed("secretbox", ["one", ONE]), IDENTITY));
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS);
    await api.world.advance(2_000);
    const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" } };
    expect((await api.create("/apis/example.com/v1/namespaces/default/widgets", widget)).status).toBe(201);
    const { items } = await api.kv.range({ start: "/registry/", end: "/registry0" });
    const isEncrypted = (prefix: string): (boolean | undefined)[] =>
      items.filter(({ key }) => key.startsWith(prefix)).map(({ value }) => value.indexOf("k8s:enc:secretbox:") === 0);
    expect(isEncrypted("/registry/example.com/widgets/")).toEqual([true]);
    expect(isEncrypted("/registry/namespaces/")).not.toContain(false);
    expect(isEncrypted("/registry/evenkeel/")).not.toContain(true);
    expect(isEncrypted("/registry/ranges/")).not.toContain(true);
  });

  test.each([["secrets"], ["*."]])("has the providers of %s rather than those of *.*", async (name) => {
    const only = (one: string, ...providers: Provider[]) => ({ resources: [one], providers });
    const resources = [only(name, keyed("aesgcm", ["one", ONE]), IDENTITY), only("*.*", IDENTITY)];
    await using api = await startServer(encryptionOf(resources));
    await api.create(SECRETS, SECRET);
    expect(await stored(api)).toMatch(/^k8s:enc:aesgcm:/);
  });
});

describe("a value that cannot be decrypted", () => {
  const wrong = encryption(["secrets"], keyed("aesgcm", ["one", TWO]), IDENTITY);
  const unreadable: readonly (readonly [string, object, RegExp])[] = [
    ["because nothing is configured", {}, /encrypted by "aesgcm" with the key "one", and no encryption is configured/],
    ["because another resource is configured", encryption(["configmaps"], IDENTITY), /no encryption is configured/],
    ["because its key was retired", retired, /with the key "one", which the encryption configuration does not have/],
    ["because its key has other bytes", wrong, /that key of the encryption configuration does not decrypt it/],
  ];

  test.each(unreadable)("%s fails each read that includes it, with its reason", async (_what, options, reason) => {
    await using writer = await startServer(first);
    await writer.create(SECRETS, SECRET);
    await writer.create("/api/v1/namespaces/kube-system/secrets", SECRET);
    await writer.create(CONFIG_MAPS, configMap("c"));
    await using api = await startServer({ ...options, world: writer.world });
    for (const path of [`${SECRETS}/s`, SECRETS, "/api/v1/secrets"]) {
      const { status, body, text } = await api.get(path);
      expect([path, status, body.kind]).toEqual([path, 500, "Status"]);
      expect(body.message).toMatch(reason);
      expect(body.message).toContain("/registry/secrets/");
      expect(text).not.toContain(ONE);
    }
    expect((await api.put(`${SECRETS}/s`, SECRET)).status).toBe(500);
    expect((await api.delete(`${SECRETS}/s`)).status).toBe(500);
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["c"]);
    const watch = await api.watch(`${SECRETS}?watch=true`);
    expect((await watch.events()).map(({ type }) => type)).not.toContain("ADDED");
  });

  test("fails if it is the value of another object, because AES-GCM authenticates the key in the store", async () => {
    await using api = await startServer(first);
    await api.create(SECRETS, SECRET);
    const value = Buffer.from(await stored(api), "latin1");
    await store(api, value, "/registry/secrets/default/copy");
    expect((await api.get(`${SECRETS}/copy`)).status).toBe(500);
    expect((await api.get(`${SECRETS}/s`)).status).toBe(200);
  });

  test("fails in clear, unless the identity provider is configured", async () => {
    await using writer = await startServer();
    await writer.create(SECRETS, SECRET);
    const strict = encryption(["secrets"], keyed("aesgcm", ["one", ONE]));
    await using api = await startServer({ ...strict, world: writer.world });
    const { status, body } = await api.get(`${SECRETS}/s`);
    expect(status).toBe(500);
    expect(body.message).toContain("the encryption configuration has no identity provider for this resource");
  });
});

describe("an update that changes nothing", () => {
  const replaced = async (api: TestServer): Promise<void> => {
    const { body } = await api.get(`${SECRETS}/s`);
    expect((await api.put(`${SECRETS}/s`, body)).status).toBe(200);
  };

  test("encrypts the object with the first key, so that the old key can be retired", async () => {
    await using clear = await startServer();
    await clear.create(SECRETS, SECRET);
    const { world } = clear;
    const { body: before } = await clear.get(`${SECRETS}/s`);
    for (const [options, header] of [
      [first, "k8s:enc:aesgcm:v1:one:"],
      [rotating, "k8s:enc:aesgcm:v1:two:"],
      [retired, "k8s:enc:aesgcm:v1:two:"],
      [encryption(["secrets"], IDENTITY, keyed("aesgcm", ["two", TWO])), "{"],
    ] as const) {
      await using api = await startServer({ ...options, world });
      await replaced(api);
      expect((await stored(api)).startsWith(header)).toBe(true);
      const { body } = await api.get(`${SECRETS}/s`);
      expect(body.data).toEqual(before.data);
      expect(body.metadata.uid).toBe(before.metadata.uid);
    }
  });

  test("writes nothing if the object is encrypted with the first key", async () => {
    await using api = await startServer(rotating);
    await api.create(SECRETS, SECRET);
    const { body } = await api.get(`${SECRETS}/s`);
    await replaced(api);
    expect((await api.get(`${SECRETS}/s`)).body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    // The value of an entry that was loaded, and not written by this server.
    await using other = await startServer({ ...rotating, world: api.world });
    await replaced(other);
    expect((await other.get(`${SECRETS}/s`)).body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  });
});

/** Values of Secrets that kube-apiserver 1.36.4 has written, with the key of the bytes 0 to 31. */
const BY_KUBE_APISERVER: readonly (readonly [string, string])[] = [
  [
    "aesgcm",
    "azhzOmVuYzphZXNnY206djE6a2V5LWFlc2djbTqCt0mGYacyCSnDXOxp2d6flVf3NcCLVPBE/hgbXzzpxE5gtXLABxmO931SGblI/lHe9/VyTP910rIZPWJNdIjRvVWu7xx/ljkKIqSjJTxVKeCYpV3EMiLrnRtnDVxT8xuCiRqK8IAuTja98P1dLup0UMeyVcyNTP9Cx5fowZJ2uR9uaxIKjZ0KgQQk6PXbgBia90AUwMKT7TqCLRbVinkGrLkdzETNA/QSVTS4Zb93u5lCArX/WU5Pi9PqhGhnuexdydFQhfFO/fYbnFjytYYDFYJetAfw4f+rl4hwJAG4n4SEin6Q5eHFgc1uYQ==",
  ],
  [
    "aescbc",
    "azhzOmVuYzphZXNjYmM6djE6a2V5LWFlc2NiYzrXTAmSJbIWE+CG7W4yr4JYTfc51eX8dOIQq0GFQn4+l9CcaWShzzNyfZXIvK/LV7wqFNjzzoWm+qugMlkKHwUg8IoDvpE/9RsSj0UsyLt3dezdh3IW66blpNTwdv7N+j68moeOExUIueu6QGgRa2K8e5w6hWZ1zrSzIJgqR/jpSVA4p6tR9DT+3i4U6b3PeB/50qx9+TS8fD6J9Plo/D4NzJvea70oPXejV6TuSw2ATJX19IH7J6qIPlES3gF4KeYH39r/Zz5EH8J+d+FwAB6x/2a//0xp1EM9OsmEerze0q/GNrdk+kfvM8mvlUZd4eU=",
  ],
  [
    "secretbox",
    "azhzOmVuYzpzZWNyZXRib3g6djE6a2V5LXNlY3JldGJveDo5sGWI4taka8btck7ORVHgbtmkcmlrC8dBpS0r0CntCquV5qHbFmbj5YRr9icffkG3sUEaqjige60po8AN/1tG4xqBTco4V03lmHw3fN95BFOBHIJvbaqXj+VvRuUsUMtBf0+ehQ3zWpIy0qo3U95Vxk3nJXSV3uj3uWcmbuqj0gz5yZAs8wqOg+TPLWpW0mI8Xu5PA79DI2a6aqHyUgNaJBUI/iFiawsA9i/3Y1kCZXUnuQeO3GXyUHvgXOek41w4pSqSvoL023/zswsxR9IAD1bnjOdPwyfo7ujVTnv6TjIJOwGxRDpUo7fqgfP4T2LHKArOdUFVvSicxg==",
  ],
];

test.each(BY_KUBE_APISERVER)("a Secret that kube-apiserver has encrypted with %s can be read", async (kind, value) => {
  await using api = await startServer(encryption(["secrets"], keyed(kind, [`key-${kind}`, ONE]), IDENTITY));
  await store(api, Buffer.from(value, "base64"), `/registry/secrets/default/by-${kind}`);
  const { status, body } = await api.get(`${SECRETS}/by-${kind}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ metadata: { name: `by-${kind}` }, data: { a: "aGk=" }, type: "Opaque" });
});

describe("a server that takes no part in the agreement on encodings", () => {
  const everything = ["storageversions.internal.apiserver.k8s.io"];
  const READABLE = encryption(everything, keyed("aesgcm", ["one", ONE]), IDENTITY);
  test.each([
    ["without an encryption configuration", {}, 503],
    ["without the key", encryption(everything, keyed("aesgcm", ["two", TWO]), IDENTITY), 503],
    ["with the key", READABLE, 201],
  ])(
    "%s accepts writes only if it can read the agreement that other servers rely on",
    async (_name, options, status) => {
      await using agreeing = await startServer({ strictRelease: false, ...READABLE });
      const { world } = agreeing;
      await world.advance(5_000);
      const prefix = "/registry/storageversions/";
      const { items } = await agreeing.kv.range({ start: prefix, end: `${prefix}~` });
      expect(items[0]?.value.toString("latin1")).toMatch(/^k8s:enc:aesgcm:v1:one:/);
      await using outside = await startServer({ world, skipReady: true, strictRelease: true, ...options });
      await world.advance(10_000);
      const created = await outside.call("POST", CONFIG_MAPS, configMap("c"), { asClient: true });
      expect(created.status).toBe(status);
    },
  );
});

test("a server that cannot decrypt a CRD does not take its objects for absent", async () => {
  const crds = encryption(["customresourcedefinitions.apiextensions.k8s.io"], keyed("aesgcm", ["one", ONE]));
  await using before = await startServer(crds);
  const { world } = before;
  await before.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS);
  await before.create("/api/v1/namespaces", { metadata: { name: "n" } });
  await world.advance(5_000);
  const widgets = "/apis/example.com/v1/namespaces/n/widgets";
  const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" } };
  const { uid } = (await before.create(widgets, widget)).body.metadata;
  const ownerReferences = [{ apiVersion: "example.com/v1", kind: "Widget", name: "w", uid }];
  const owned = configMap("owned", { metadata: { ownerReferences } });
  await before.create("/api/v1/namespaces/n/configmaps", owned);
  await before[Symbol.asyncDispose]();

  await using after = await startServer({ world, skipReady: true });
  await world.advance(10 * 60_000);
  for (const path of [widgets, `${widgets}/w`]) {
    const { status, body } = await after.get(path);
    expect([status, body.message]).toEqual([500, expect.stringContaining("no encryption is configured")]);
  }
  expect((await after.get("/api/v1/namespaces/n/configmaps/owned")).status).toBe(200);
  expect((await after.delete("/api/v1/namespaces/n")).status).toBe(200);
  await world.advance(10 * 60_000);
  expect((await after.get("/api/v1/namespaces/n")).body.status.phase).toBe("Terminating");
  expect((await after.kv.range({ start: "/registry/example.com/widgets/n/w" })).count).toBe(1);
});

test.each<[string, Parameters<typeof startServer>[0], number]>([
  ["without the key", encryption(["secrets"], keyed("aesgcm", ["two", TWO]), IDENTITY), 1],
  ["without the key and without identity", encryption(["secrets"], keyed("aesgcm", ["two", TWO])), 2],
  ["without an encryption configuration", {}, 1],
  ["with the key", first, 0],
])("reports of a server %s count the values that it cannot read", async (_name, options, unreadable) => {
  await using before = await startServer(first);
  const { world } = before;
  await before.create(SECRETS, SECRET);
  await store(
    before,
    JSON.stringify({ kind: "Secret", apiVersion: "v1", metadata: { name: "clear" } }),
    `${KEY}-clear`,
  );
  await using after = await startServer({ world, ...options });
  const countIn = async (report: string, list: string, field: string): Promise<unknown> => {
    const { text } = await after.get(`/evenkeel/v1/${report}`);
    const found: Json[] = JSON.parse(text.trimEnd().split("\n").at(-1)!).report[list];
    return found.find(({ resource }) => resource === "secrets")?.[field] ?? 0;
  };
  expect(await countIn("stored-versions", "resources", "unreadable")).toBe(unreadable);
  expect(await countIn("rollback-check?to=1.35", "broken", "count")).toBe(unreadable);
});
