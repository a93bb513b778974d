/**
 * Reads of objects that were stored without the defaults of this server's release: by a kube-apiserver, which stores some
 * objects before it defaults them, or by an older release.
 */
import { describe, expect, test } from "vitest";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { encodeProtobufObject } from "../testing/objects/protobuf/encode.ts";
import { store } from "./corrupt-values.ts";
import { CONFIG_MAPS, names, pod, startServer, type Json, type TestServer } from "./start.ts";

const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const CLAIM_KEY = "/registry/persistentvolumeclaims/default/c";
const CORE_EVENTS = "/api/v1/namespaces/default/events";
const NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events";

function claim(more: Json = {}): Json {
  const resources = { requests: { storage: "1Gi" } };
  return {
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    metadata: { name: "c", namespace: "default", uid: "u" },
    spec: { accessModes: ["ReadWriteOnce"], resources },
    status: {},
    ...more,
  };
}

async function stored({ kv, world }: TestServer, key: string): Promise<Json> {
  const { items } = await world.run(kv.range({ start: key }));
  return JSON.parse(String(items[0]!.value));
}

describe("a PersistentVolumeClaim that was stored without a phase", () => {
  test("has the phase in a GET, a list, a watch and a Table, and keeps its stored bytes", async () => {
    await using server = await startServer();
    const watch = await server.watch(`${CLAIMS}?watch=true`);
    await store(server, JSON.stringify(claim()), CLAIM_KEY);
    const { body } = await server.get(`${CLAIMS}/c`);
    expect(body.status).toEqual({ phase: "Pending" });
    expect(body.spec.volumeMode).toBe("Filesystem");
    const list = (await server.get(CLAIMS)).body.items;
    expect(list).toEqual([{ metadata: body.metadata, spec: body.spec, status: body.status }]);
    expect(await watch.events()).toEqual([{ type: "ADDED", object: body }]);
    const table = await server.get(CLAIMS, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
    expect(table.body.rows[0].cells).toContain("Pending");
    expect(await stored(server, CLAIM_KEY)).toEqual(claim());
  });

  test("has the phase in a server that loads it at its start, and at an old revision", async () => {
    const world = new World({ seed: 1 });
    await using first = await startServer({ world });
    await store(first, JSON.stringify(claim()), CLAIM_KEY);
    const revision = (await first.get(CLAIMS)).body.metadata.resourceVersion;
    await store(first, JSON.stringify(claim({ status: { phase: "Bound" } })), CLAIM_KEY);
    await using second = await startServer({ world });
    const exact = `${CLAIMS}?resourceVersionMatch=Exact&resourceVersion=${revision}`;
    expect((await second.get(exact)).body.items[0].status).toEqual({ phase: "Pending" });
    expect((await second.get(`${CLAIMS}/c`)).body.status).toEqual({ phase: "Bound" });
  });

  test("has the phase in its DELETED event", async () => {
    await using server = await startServer();
    await store(server, JSON.stringify(claim()), CLAIM_KEY);
    const watch = await server.watch(`${CLAIMS}?watch=true&resourceVersion=0`);
    await watch.events();
    await server.delete(`${CLAIMS}/c`);
    expect(await watch.events()).toMatchObject([{ type: "DELETED", object: { status: { phase: "Pending" } } }]);
  });

  test("is rewritten by an update without changes, once", async () => {
    await using server = await startServer();
    await store(server, JSON.stringify(claim()), CLAIM_KEY);
    const { body } = await server.get(`${CLAIMS}/c`);
    const first = await server.put(`${CLAIMS}/c`, body);
    expect(first.body.metadata.resourceVersion).not.toBe(body.metadata.resourceVersion);
    expect(first.body.status).toEqual({ phase: "Pending" });
    expect((await stored(server, CLAIM_KEY)).status).toEqual({ phase: "Pending" });
    const second = await server.put(`${CLAIMS}/c`, first.body);
    expect(second.body).toEqual(first.body);
    expect((await server.mergePatch(`${CLAIMS}/c`, {})).body).toEqual(first.body);
  });

  test("is seen with the phase by a JSON patch", async () => {
    await using server = await startServer();
    await store(server, JSON.stringify(claim()), CLAIM_KEY);
    const operations = [
      { op: "test", path: "/status/phase", value: "Pending" },
      { op: "replace", path: "/status/phase", value: "Bound" },
    ];
    expect((await server.jsonPatch(`${CLAIMS}/c/status`, operations)).body.status).toEqual({ phase: "Bound" });
  });

  test("has a dataSourceRef if it has only a dataSource", async () => {
    await using server = await startServer();
    const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" };
    await store(server, JSON.stringify(claim({ spec: { ...claim().spec, dataSource } })), CLAIM_KEY);
    expect((await server.get(`${CLAIMS}/c`)).body.spec).toMatchObject({ dataSource, dataSourceRef: dataSource });
  });
});

test("an Event that a kube-apiserver stored has null for times that are not set, in both API groups", async () => {
  await using server = await startServer();
  const event = {
    ...{ kind: "Event", apiVersion: "v1", metadata: { name: "e", namespace: "default" } },
    ...{ involvedObject: { kind: "Pod", name: "p", namespace: "default" }, reason: "r", series: { count: 2 } },
  };
  await store(server, encodeProtobufObject(event, protobufTables()), "/registry/events/default/e");
  const inCore = await server.get(`${CORE_EVENTS}/e`);
  expect(inCore.body).toMatchObject({ firstTimestamp: null, lastTimestamp: null, eventTime: null, source: {} });
  expect(inCore.body.series).toEqual({ count: 2, lastObservedTime: null });
  const inGroup = await server.get(`${NEW_EVENTS}/e`);
  const times = { deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null, eventTime: null };
  expect(inGroup.body).toMatchObject({ ...times, deprecatedSource: {}, regarding: { kind: "Pod", name: "p" } });
});

describe("a CSINode without drivers", () => {
  const NODES = "/apis/storage.k8s.io/v1/csinodes";
  const node = (spec: Json): Json => ({
    ...{ kind: "CSINode", apiVersion: "storage.k8s.io/v1", metadata: { name: "n" }, spec },
  });

  test.each([
    ["the list is absent", {}],
    ["the list is empty", { drivers: [] }],
  ])("has null in a read if %s in the store", async (_what, spec) => {
    await using server = await startServer();
    await store(server, JSON.stringify(node(spec)), "/registry/csinodes/n");
    expect((await server.get(`${NODES}/n`)).body.spec).toEqual({ drivers: null });
  });

  test("is stored with null if the list of a create is empty", async () => {
    await using server = await startServer();
    expect((await server.create(NODES, node({ drivers: [] }))).body.spec).toEqual({ drivers: null });
    expect((await stored(server, "/registry/csinodes/n")).spec).toEqual({ drivers: null });
  });
});

describe("the defaults of stored objects", () => {
  const DRIVER_KEY = "/registry/csidrivers/d.example.com";
  const DRIVER = "/apis/storage.k8s.io/v1/csidrivers/d.example.com";
  const driver = JSON.stringify({
    ...{ kind: "CSIDriver", apiVersion: "storage.k8s.io/v1", metadata: { name: "d.example.com" } },
    ...{ spec: { attachRequired: false } },
  });
  const later = { preventPodSchedulingIfMissing: false };

  test.each([
    [{ release: "1.36" }, {}],
    [{ release: "1.37" }, later],
    [{ release: "1.37", emulatedVersion: ["1.36"] }, {}],
  ] as const)("are those of the release as which the server behaves: %j", async (options, more) => {
    await using server = await startServer(options);
    await store(server, driver, DRIVER_KEY);
    expect((await server.get(DRIVER)).body.spec).toEqual({
      ...{ attachRequired: false, podInfoOnMount: false, storageCapacity: false, requiresRepublish: false },
      ...{ fsGroupPolicy: "ReadWriteOnceWithFSType", seLinuxMount: false, volumeLifecycleModes: ["Persistent"] },
      ...more,
    });
  });

  test("differ between servers of two releases that read the same bytes", async () => {
    const world = new World({ seed: 1 });
    await using older = await startServer({ world, release: "1.36" });
    await using newer = await startServer({ world, release: "1.37" });
    await older.create("/apis/storage.k8s.io/v1/csidrivers", JSON.parse(driver));
    expect((await older.get(DRIVER)).body.spec).not.toHaveProperty("preventPodSchedulingIfMissing");
    const { body } = await newer.get(DRIVER);
    expect(body.spec).toMatchObject(later);
    const rewritten = await newer.put(DRIVER, body);
    expect(rewritten.body.metadata.resourceVersion).not.toBe(body.metadata.resourceVersion);
    const read = await older.get(DRIVER);
    expect(read.body.spec).toMatchObject(later);
    expect((await older.put(DRIVER, read.body)).body.metadata).toEqual(read.body.metadata);
  });

  test("are not stored by an update that lacks them, so that servers of two releases do not rewrite the object in turn", async () => {
    const world = new World({ seed: 1 });
    await using older = await startServer({ world, release: "1.36" });
    await using newer = await startServer({ world, release: "1.37" });
    const sets = "/apis/apps/v1/namespaces/default/statefulsets";
    const { spec: pods } = pod("p");
    const template = { metadata: { labels: { a: "b" } }, spec: pods };
    const manifest = {
      ...{ kind: "StatefulSet", apiVersion: "apps/v1", metadata: { name: "s" } },
      spec: { serviceName: "s", selector: { matchLabels: { a: "b" } }, template },
    };
    const repeated = async (body: Json): Promise<string[]> => {
      const revisions: string[] = [];
      for (const server of [older, newer, older, newer, older, newer])
        revisions.push((await server.put(`${sets}/s`, body)).body.metadata.resourceVersion);
      return revisions;
    };
    const { body: created } = await older.create(sets, manifest);
    expect(new Set(await repeated(manifest))).toEqual(new Set([created.metadata.resourceVersion]));
    const { metadata: _metadata, ...complete } = (await newer.get(`${sets}/s`)).body;
    expect(complete.spec.updateStrategy.rollingUpdate).toEqual({ partition: 0, maxUnavailable: 1 });
    // The first of these updates writes the defaults of the newer release, and none of them removes them.
    expect(new Set((await repeated({ ...complete, metadata: { name: "s" } })).slice(1)).size).toBe(1);
    // An update of the status stores no defaults.
    await repeated(manifest);
    const { body: read } = await newer.get(`${sets}/s`);
    const status = await newer.put(`${sets}/s/status`, read);
    expect(status.body.metadata.resourceVersion).toBe(read.metadata.resourceVersion);
  });

  test("are visible to field selectors and label selectors", async () => {
    await using server = await startServer();
    const secret = { kind: "Secret", apiVersion: "v1", metadata: { name: "s", namespace: "default" } };
    await store(server, JSON.stringify(secret), "/registry/secrets/default/s");
    const namespace = { kind: "Namespace", apiVersion: "v1", metadata: { name: "n" } };
    await store(server, JSON.stringify(namespace), "/registry/namespaces/n");
    const secrets = "/api/v1/namespaces/default/secrets?fieldSelector=type%3DOpaque";
    expect(names(await server.get(secrets))).toEqual(["s"]);
    const labeled = "/api/v1/namespaces?labelSelector=kubernetes.io%2Fmetadata.name%3Dn";
    expect(names(await server.get(labeled))).toEqual(["n"]);
  });

  test("are those of the stored version, converted to each served version", async () => {
    await using server = await startServer();
    const scaleTargetRef = { kind: "Deployment", name: "d" };
    const autoscaler = {
      ...{ kind: "HorizontalPodAutoscaler", apiVersion: "autoscaling/v2" },
      ...{ metadata: { name: "a", namespace: "default" }, spec: { scaleTargetRef, maxReplicas: 3 }, status: {} },
    };
    await store(server, JSON.stringify(autoscaler), "/registry/horizontalpodautoscalers/default/a");
    const path = (version: string): string =>
      `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers/a`;
    const target = { type: "Utilization", averageUtilization: 80 };
    expect((await server.get(path("v2"))).body).toMatchObject({
      spec: { minReplicas: 1, metrics: [{ type: "Resource", resource: { name: "cpu", target } }] },
      status: { currentMetrics: null, desiredReplicas: 0 },
    });
    const inV1 = await server.get(path("v1"));
    expect(inV1.body.spec).toEqual({
      scaleTargetRef,
      maxReplicas: 3,
      minReplicas: 1,
      targetCPUUtilizationPercentage: 80,
    });
    expect(inV1.body.status).toEqual({ currentReplicas: 0, desiredReplicas: 0 });
  });

  test("of a CRD in the version in which kube-apiserver stores CRDs are those of that version", async () => {
    await using server = await startServer();
    const crd = {
      ...{ kind: "CustomResourceDefinition", apiVersion: "apiextensions.k8s.io/v1beta1" },
      metadata: { name: "widgets.example.com" },
      spec: { group: "example.com", version: "v1", names: { plural: "widgets", kind: "Widget" } },
    };
    const key = "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com";
    await store(server, JSON.stringify(crd), key);
    const read = await server.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com");
    expect(read.body.spec).toEqual({
      ...{ group: "example.com", scope: "Namespaced", conversion: { strategy: "None" }, preserveUnknownFields: true },
      names: { plural: "widgets", kind: "Widget", singular: "widget", listKind: "WidgetList" },
      versions: [{ name: "v1", served: true, storage: true }],
    });
  });

  test("keep fields that the release does not know", async () => {
    await using server = await startServer();
    const { spec } = claim();
    const value = claim({ spec: { ...spec, future: { a: [1] } }, status: { future: "b" }, future: null });
    await store(server, JSON.stringify(value), CLAIM_KEY);
    const { body } = await server.get(`${CLAIMS}/c`);
    expect(body.spec.future).toEqual({ a: [1] });
    expect(body.status).toEqual({ future: "b", phase: "Pending" });
    expect(body.future).toBe(null);
  });

  test.each([
    ["a text instead of the spec", { spec: "none" }],
    ["an object instead of a list", { spec: { accessModes: {} }, status: { conditions: { a: 1 } } }],
    ["lists of null", { spec: { accessModes: [null] }, status: { conditions: [null] } }],
  ])("do not make an object with %s unreadable", async (_what, more) => {
    await using server = await startServer();
    await store(server, JSON.stringify(claim(more)), CLAIM_KEY);
    expect((await server.get(`${CLAIMS}/c`)).status).toBe(200);
    expect((await server.get(CLAIMS)).status).toBe(200);
  });

  test("are not added to complete objects, whose bytes are served as they are stored", async () => {
    await using server = await startServer();
    const unusual = String.raw`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default"},  "data": {"k":"\u0041"}}`;
    await store(server, unusual, "/registry/configmaps/default/a");
    expect((await server.get(`${CONFIG_MAPS}/a`)).text).toContain(String.raw`"data": {"k":"\u0041"}}`);
    const spaced = String.raw`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"default"},  "type": "\u0041"}`;
    await store(server, spaced, "/registry/secrets/default/a");
    expect((await server.get("/api/v1/namespaces/default/secrets/a")).text).toContain(String.raw`"type": "\u0041"}`);
  });
});
