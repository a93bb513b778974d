import { describe, expect, test } from "vitest";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { decodeProtobufObject } from "../../src/objects/protobuf/decode.ts";
import { encodeProtobufObject } from "../testing/objects/protobuf/encode.ts";
import { MessageReader } from "../../src/objects/protobuf/wire-reader.ts";
import { CONFIG_MAPS, configMap, deployment, PODS, pod, startServer, type Json, type TestServer } from "./start.ts";

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const TYPED = `${PROTOBUF},application/json`;
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const partial = (kind: string): string => {
  const as = `;as=${kind};g=meta.k8s.io;v=v1`;
  return `${PROTOBUF}${as},application/json${as},application/json`;
};

interface BytesResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly bytes: Buffer;
}

interface RequestOptions {
  readonly method?: string;
  readonly body?: Json;
  readonly contentType?: string;
  readonly accept?: string;
}

async function ask(api: TestServer, target: string, asked: RequestOptions = {}): Promise<BytesResponse> {
  const { method = "GET", body, contentType = "application/json", accept = TYPED } = asked;
  const headers = { accept, ...(body === undefined ? {} : { "content-type": contentType }) };
  const sent = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  return api.world.run(
    (async () => {
      const response = await api.server.transport.send({ method, target, headers, body: sent ?? Buffer.alloc(0) });
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      return {
        status: response.status,
        contentType: response.headers["content-type"],
        bytes: Buffer.concat(chunks),
      };
    })(),
  );
}

/** Sends a GET and decodes the protobuf response. A response of another media type fails the test. */
async function read(api: TestServer, target: string, asked: RequestOptions = {}): Promise<Json> {
  const { status, contentType, bytes } = await ask(api, target, asked);
  expect(contentType).toBe(PROTOBUF);
  return { status, body: decodeProtobufObject(bytes, protobufTables()) };
}

interface WatchedEvent {
  readonly type: string;
  readonly object: Json;
}

/**
 * Decodes the frames of a watch stream: four bytes of length, then the event, which contains the object with its
 * protobuf envelope.
 */
function eventsIn(stream: Buffer): WatchedEvent[] {
  const events: WatchedEvent[] = [];
  for (let at = 0; at < stream.length;) {
    const end = at + 4 + stream.readUInt32BE(at);
    const reader = new MessageReader(stream, at + 4, end, "WatchEvent");
    let type = "";
    let object = Buffer.alloc(0);
    while (reader.next()) {
      if (reader.field === 1) type = reader.string();
      else object = rawIn(reader.bytes());
    }
    events.push({ type, object: decodeProtobufObject(object, protobufTables()) });
    at = end;
  }
  return events;
}

function rawIn(extension: Buffer): Buffer<ArrayBuffer> {
  const reader = new MessageReader(extension, 0, extension.length, "RawExtension");
  expect(reader.next() && reader.field).toBe(1);
  return Buffer.from(reader.bytes());
}

/** Watches for one second and returns the whole response. */
function watch(api: TestServer, target: string, accept = TYPED): Promise<BytesResponse> {
  const mark = target.includes("?") ? "&" : "?";
  return ask(api, `${target}${mark}watch=true&timeoutSeconds=1`, { accept });
}

/** The object without empty values, which are lost when an object is encoded in protobuf. */
function withoutEmptyValues(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutEmptyValues);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, withoutEmptyValues(item)] as const);
  return Object.fromEntries(
    entries.filter(([, item]) => item !== null && item !== "" && item !== 0 && JSON.stringify(item) !== "{}"),
  );
}

describe("protobuf responses", () => {
  test("contain the same object as JSON", async () => {
    await using api = await startServer();
    const created = await read(api, DEPLOYMENTS, {
      method: "POST",
      body: encodeProtobufObject(deployment("web", 2), protobufTables()),
      contentType: PROTOBUF,
    });
    expect(created.status).toBe(201);
    const inJson = (await api.get(`${DEPLOYMENTS}/web`)).body;
    expect(withoutEmptyValues(created.body)).toEqual(withoutEmptyValues(inJson));
    expect(withoutEmptyValues((await read(api, `${DEPLOYMENTS}/web`)).body)).toEqual(withoutEmptyValues(inJson));
    const patch = { method: "PATCH", body: { spec: { replicas: 0 } }, contentType: "application/merge-patch+json" };
    const patched = await read(api, `${DEPLOYMENTS}/web`, patch);
    expect(patched).toMatchObject({ status: 200, body: { spec: { replicas: 0 } } });
    const put = await read(api, `${DEPLOYMENTS}/web`, {
      method: "PUT",
      body: { ...inJson, metadata: { name: "web" } },
    });
    expect(put).toMatchObject({ status: 200, body: { kind: "Deployment", spec: { replicas: 2 } } });
    const scale = await read(api, `${DEPLOYMENTS}/web/scale`);
    expect(scale.body).toMatchObject({ kind: "Scale", apiVersion: "autoscaling/v1", spec: { replicas: 2 } });
    const dryRun = await read(api, `${CONFIG_MAPS}?dryRun=All`, { method: "POST", body: configMap("dry") });
    expect(dryRun).toMatchObject({ status: 201, body: { kind: "ConfigMap", data: { a: "1" } } });
    const gone = await read(api, `${DEPLOYMENTS}/web`, { method: "DELETE" });
    expect(gone).toMatchObject({ status: 200, body: { kind: "Status", status: "Success", details: { name: "web" } } });
  });

  test("contain the same lists as JSON responses, page by page", async () => {
    await using api = await startServer();
    for (const name of ["a", "b", "c"]) await api.create(CONFIG_MAPS, configMap(name));
    const whole = await read(api, CONFIG_MAPS);
    expect(withoutEmptyValues(whole.body)).toEqual(withoutEmptyValues({ ...(await api.get(CONFIG_MAPS)).body }));
    const page = await read(api, `${CONFIG_MAPS}?limit=2`);
    expect(page.body).toMatchObject({ kind: "ConfigMapList", metadata: { remainingItemCount: 1 } });
    const rest = await read(api, `${CONFIG_MAPS}?limit=9&continue=${page.body.metadata.continue}`);
    expect([...page.body.items, ...rest.body.items].map(({ metadata }) => metadata.name)).toEqual(
      whole.body.items.map(({ metadata }: Json) => metadata.name),
    );
    expect((await read(api, `${PODS}?limit=1`)).body).toMatchObject({ kind: "PodList", items: null });
  });

  test("of a long list contain every object, and a second list returns the same bytes", async () => {
    await using api = await startServer();
    const data = { text: "x".repeat(100_000) };
    const names = Array.from({ length: 12 }, (_, number) => `c-${String(number).padStart(2, "0")}`);
    for (const name of names) await api.create(CONFIG_MAPS, configMap(name, { data }));
    const first = await ask(api, `${CONFIG_MAPS}?labelSelector=!none`);
    const list: Json = decodeProtobufObject(first.bytes, protobufTables());
    expect(list.items.map(({ metadata }: Json) => metadata.name)).toEqual(expect.arrayContaining(names));
    expect((await ask(api, `${CONFIG_MAPS}?labelSelector=!none`)).bytes).toEqual(first.bytes);
  });

  test("contain the object in the requested version", async () => {
    await using api = await startServer();
    const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
    const hpas = "namespaces/default/horizontalpodautoscalers";
    await api.create(`/apis/autoscaling/v1/${hpas}`, {
      metadata: { name: "h" },
      spec: { maxReplicas: 3, targetCPUUtilizationPercentage: 50, scaleTargetRef },
    });
    const v1 = await read(api, `/apis/autoscaling/v1/${hpas}/h`);
    expect(v1.body).toMatchObject({ apiVersion: "autoscaling/v1", spec: { targetCPUUtilizationPercentage: 50 } });
    const v2 = await read(api, `/apis/autoscaling/v2/${hpas}`);
    expect(v2.body.items[0].spec.metrics[0].resource.target.averageUtilization).toBe(50);
  });
});

describe("errors", () => {
  test.each<[what: string, target: string, asked: RequestOptions, told: { code: number; reason: string }]>([
    ["a missing object", `${PODS}/nope`, {}, { code: 404, reason: "NotFound" }],
    [
      "an invalid object",
      CONFIG_MAPS,
      { method: "POST", body: configMap("Not_a_name") },
      { code: 422, reason: "Invalid" },
    ],
    ["a malformed body", CONFIG_MAPS, { method: "POST", body: Buffer.from("{") }, { code: 400, reason: "BadRequest" }],
  ])("are returned in protobuf: %s", async (_what, target, asked, rejection) => {
    await using api = await startServer();
    const response = await read(api, target, asked);
    expect(response).toMatchObject({
      status: rejection.code,
      body: { kind: "Status", status: "Failure", ...rejection },
    });
  });

  test("are returned in JSON to a client that requested PartialObjectMetadata", async () => {
    await using api = await startServer();
    const response = await ask(api, `${PODS}/nope`, { accept: partial("PartialObjectMetadata") });
    expect(response).toMatchObject({ status: 404, contentType: "application/json" });
  });
});

describe("protobuf watches", () => {
  test("send initial events, changes and bookmarks", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    const target = `${CONFIG_MAPS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
    const watching = watch(api, target);
    await api.world.advance(10);
    await api.mergePatch(`${CONFIG_MAPS}/a`, { data: { b: "2" } });
    await api.delete(`${CONFIG_MAPS}/a`);
    const { status, contentType, bytes } = await watching;
    expect({ status, contentType }).toEqual({ status: 200, contentType: `${PROTOBUF};stream=watch` });
    const events = eventsIn(bytes).filter(({ object }) => object.metadata.name !== "kube-root-ca.crt");
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK", "MODIFIED", "DELETED"]);
    expect(events[1]?.object).toMatchObject({
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { annotations: { "k8s.io/initial-events-end": "true" } },
    });
    expect(events[2]?.object).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", data: { a: "1", b: "2" } });
    expect(Number(events[3]?.object.metadata.resourceVersion)).toBeGreaterThan(
      Number(events[2]?.object.metadata.resourceVersion),
    );
  });

  test("send an ERROR event if they cannot start at the requested resourceVersion", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    await api.kv.compact(await api.kv.currentRevision());
    await using late = await startServer({ world: api.world });
    const { bytes } = await watch(late, `${CONFIG_MAPS}?resourceVersion=1`);
    const [event] = eventsIn(bytes);
    expect(event).toMatchObject({ type: "ERROR", object: { kind: "Status", reason: "Expired", code: 410 } });
  });

  test("share one encoding of an event, separate from that of JSON watches", async () => {
    await using api = await startServer();
    const { resourceVersion } = (await api.get(CONFIG_MAPS)).body.metadata;
    const target = `${CONFIG_MAPS}?resourceVersion=${resourceVersion}`;
    const watching = [1, 2, 3].flatMap(() => [watch(api, target), watch(api, target, "application/json")]);
    await api.world.advance(10);
    const series = "evenkeel_watch_encodings_total";
    const before = await api.metric(series);
    await api.create(CONFIG_MAPS, configMap("a"));
    const after = await api.metric(series);
    const responses = await Promise.all(watching);
    expect(after - before).toBe(2);
    expect(responses[0]?.bytes).toEqual(responses[2]?.bytes);
    expect(eventsIn(responses[0]!.bytes)).toHaveLength(1);
    expect(responses[1]?.bytes.toString()).toContain('"type":"ADDED"');
  });
});

describe("protobuf metadata", () => {
  test("is available for objects, lists and watches", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a", { metadata: { labels: { x: "y" }, annotations: { a: '"}{' } } }));
    const { metadata } = (await api.get(`${CONFIG_MAPS}/a`)).body;
    const head = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };
    const one = await read(api, `${CONFIG_MAPS}/a`, { accept: partial("PartialObjectMetadata") });
    expect(one.body).toEqual({ ...head, metadata });
    const accept = partial("PartialObjectMetadataList");
    const list = await read(api, `${CONFIG_MAPS}?labelSelector=x`, { accept });
    expect(list.body).toMatchObject({ kind: "PartialObjectMetadataList", items: [{ metadata }] });
    const watched = await watch(api, `${CONFIG_MAPS}?labelSelector=x`, partial("PartialObjectMetadata"));
    expect(eventsIn(watched.bytes)).toEqual([{ type: "ADDED", object: { ...head, metadata } }]);
    const gone = await read(api, `${CONFIG_MAPS}/a`, { method: "DELETE", accept: partial("PartialObjectMetadata") });
    expect(gone.body).toMatchObject({ kind: "Status", status: "Success" });
  });
});

describe("without a protobuf encoding,", () => {
  test("a resource is returned in the next acceptable media type", async () => {
    await using api = await startServer({ release: "1.28", runtimeConfig: ["networking.k8s.io/v1alpha1=true"] });
    const response = await ask(api, "/apis/networking.k8s.io/v1alpha1/ipaddresses");
    expect(response).toMatchObject({ status: 200, contentType: "application/json" });
    const rejected = await ask(api, "/apis/networking.k8s.io/v1alpha1/ipaddresses", { accept: PROTOBUF });
    expect(rejected).toMatchObject({ status: 406, contentType: "application/json" });
  });

  test("a table is returned in the next acceptable media type", async () => {
    await using api = await startServer();
    await api.create(PODS, pod("p"));
    const table = ";as=Table;v=v1;g=meta.k8s.io";
    const accept = `${PROTOBUF}${table},application/json${table},application/json`;
    const { contentType, bytes } = await ask(api, PODS, { accept });
    expect(contentType).toBe("application/json");
    expect(JSON.parse(bytes.toString())).toMatchObject({ kind: "Table" });
    expect((await ask(api, PODS, { accept: `${PROTOBUF}${table}` })).status).toBe(406);
  });
});
