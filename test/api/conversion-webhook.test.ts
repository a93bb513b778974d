/**
 * Tests of custom resources with webhook conversion over real TLS, because most failures of webhooks occur in the TLS
 * connection.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { InProcessRequest } from "../../src/client/in-process.ts";
import { buildServer, type Server } from "../../src/server/build-server.ts";
import { resolveOptions } from "../../src/server/config.ts";
import { createNodeEnv } from "../../src/server/env-node.ts";
import { createMemoryKv } from "../../src/storage/kv-memory/kv.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { ConversionWebhook, endpointDefinition } from "./conversion-webhook-server.ts";
import type { Json } from "./start.ts";

const DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/endpoints.net.example.com";
const DEFINITIONS = DEFINITION.slice(0, DEFINITION.lastIndexOf("/"));
const STORED = "/registry/net.example.com/endpoints/default/";
const of = (version: string, name = ""): string =>
  `/apis/net.example.com/${version}/namespaces/default/endpoints${name === "" ? "" : `/${name}`}`;

let webhook: ConversionWebhook;
let server: Server;
let kv: Kv;

beforeEach(async () => {
  webhook = new ConversionWebhook();
  await webhook.start();
  const env = createNodeEnv({ logLevel: "error", write: () => undefined });
  kv = createMemoryKv({ clock: env.clock });
  server = await buildServer(
    { ...env, openKv: () => Promise.resolve(kv) },
    resolveOptions({ storage: { kind: "memory" }, strictRelease: true, peers: { hostname: "here" } }),
  );
  await server.ready;
});

afterEach(async () => {
  server.endWatches();
  await server.close();
  await webhook.stop();
});

async function ask(method: string, target: string, body?: Json): Promise<Json> {
  const headers: Record<string, string> = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
  const request: InProcessRequest = { method, target, headers, ...(body === undefined ? {} : { body }) };
  const response = await server.call(method === "PATCH" ? { ...request, body: JSON.stringify(body) } : request);
  const text = await response.text();
  return { status: response.status, ...JSON.parse(text) };
}

/**
 * Creates the CRD. Checks code and message instead of the HTTP status, which `ask` replaces by the status field of the
 * created object.
 */
async function define(definition: Json = endpointDefinition(webhook.clientConfig)): Promise<void> {
  const { code, message } = await ask("POST", DEFINITIONS, definition);
  expect([code, message]).toEqual([undefined, undefined]);
}

const v1 = (name: string, more: Json = {}): Json => ({
  apiVersion: "net.example.com/v1",
  kind: "Endpoint",
  metadata: { name, ...more },
  spec: { host: "a", port: 80 },
});
const v2 = (name: string, address = "a:80"): Json => ({
  apiVersion: "net.example.com/v2",
  kind: "Endpoint",
  metadata: { name },
  spec: { address },
});

async function storedObject(name: string): Promise<Json> {
  const { items } = await kv.range({ start: `${STORED}${name}`, end: `${STORED}${name}\u0000` });
  return JSON.parse(Buffer.from(items[0]!.value).toString());
}

describe("an object", () => {
  test("that is created in one version is readable in the other version, and is stored in the storage version", async () => {
    await define();
    expect(await ask("POST", of("v1"), v1("one"))).toMatchObject({ spec: { host: "a", port: 80 } });
    expect(webhook.requests).toHaveLength(0);
    expect(await ask("GET", of("v2", "one"))).toMatchObject({
      apiVersion: "net.example.com/v2",
      spec: { address: "a:80" },
    });
    expect(webhook.requests[0]).toMatchObject({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "ConversionReview",
      request: { desiredAPIVersion: "net.example.com/v2", objects: [{ apiVersion: "net.example.com/v1" }] },
    });
    expect(webhook.targets[0]).toBe("/convert?timeout=30s");
    expect(await ask("POST", of("v2"), v2("two", "b:90"))).toMatchObject({ spec: { address: "b:90" } });
    expect(await storedObject("two")).toMatchObject({
      apiVersion: "net.example.com/v1",
      spec: { host: "b", port: 90 },
    });
    expect(await ask("GET", of("v1", "two"))).toMatchObject({ spec: { host: "b", port: 90 } });
  });

  test("can be updated through a version in which it is not stored", async () => {
    await define();
    await ask("POST", of("v1"), v1("one"));
    const read = await ask("GET", of("v2", "one"));
    delete read.status;
    const put = await ask("PUT", of("v2", "one"), { ...read, spec: { address: "c:70" } });
    expect(put).toMatchObject({ spec: { address: "c:70" }, metadata: { generation: 2, uid: read.metadata.uid } });
    expect(await ask("PATCH", of("v2", "one"), { metadata: { labels: { a: "b" } } })).toMatchObject({
      metadata: { labels: { a: "b" } },
      spec: { address: "c:70" },
    });
    expect(await storedObject("one")).toMatchObject({
      apiVersion: "net.example.com/v1",
      metadata: { labels: { a: "b" } },
      spec: { host: "c", port: 70 },
    });
    await ask("DELETE", of("v2", "one"));
    expect(await ask("GET", of("v1", "one"))).toMatchObject({ code: 404 });
  });

  test("is selected by field selectors with the fields of the requested version", async () => {
    await define();
    for (const name of ["one", "two"]) await ask("POST", of("v1"), { ...v1(name), spec: { host: name, port: 1 } });
    const { items } = await ask("GET", `${of("v2")}?fieldSelector=spec.address%3Dtwo:1`);
    expect(items.map(({ metadata }: Json) => metadata.name)).toEqual(["two"]);
  });

  test("that was stored before a change of the storage version is readable in both versions, and later writes use the new storage version", async () => {
    await define();
    await ask("POST", of("v1"), v1("old"));
    const flipped = await ask("PATCH", DEFINITION, { spec: endpointDefinition(webhook.clientConfig, "v2").spec });
    expect(flipped.code).toBeUndefined();
    await expect
      .poll(async () => {
        const name = `new-${webhook.requests.length}`;
        await ask("POST", of("v2"), v2(name));
        return (await storedObject(name)).apiVersion;
      })
      .toBe("net.example.com/v2");
    webhook.requests.length = 0;
    const { items } = await ask("GET", of("v2"));
    expect(items.length).toBeGreaterThan(1);
    expect(items.every(({ spec }: Json) => spec.address === "a:80")).toBe(true);
    const olds = webhook.requests.flatMap(({ request }) => request.objects);
    expect(olds.every(({ apiVersion }: Json) => apiVersion === "net.example.com/v1")).toBe(true);
    await ask("PATCH", of("v1", "old"), { spec: { port: 81 } });
    expect(await storedObject("old")).toMatchObject({
      apiVersion: "net.example.com/v2",
      spec: { address: "a:81" },
    });
    expect(await ask("GET", of("v1", "old"))).toMatchObject({ spec: { host: "a", port: 81 } });
  });
});

describe("several objects", () => {
  test("are converted by one call to the webhook, and a second list causes no call", async () => {
    await define();
    for (const name of ["a", "b", "c"]) await ask("POST", of("v1"), v1(name));
    const list = await ask("GET", of("v2"));
    expect(list.items.map(({ metadata, spec }: Json) => [metadata.name, spec.address])).toEqual([
      ["a", "a:80"],
      ["b", "a:80"],
      ["c", "a:80"],
    ]);
    await ask("GET", of("v2"));
    expect(webhook.requests.map(({ request }) => request.objects.length)).toEqual([3]);
  });

  test("appear in a watch of the other version in the order of their changes, however long each conversion takes", async () => {
    await define();
    await ask("POST", of("v1"), v1("first"));
    let responses = 0;
    webhook.delayMs = () => (responses++ % 2 === 0 ? 60 : 0);
    const response = await server.call({ method: "GET", target: `${of("v2")}?watch=true` });
    const names = ["e0", "e1", "e2", "e3", "e4", "e5"];
    const making = (async () => {
      for (const name of names) await ask("POST", of("v1"), v1(name));
      await ask("DELETE", of("v1", "e0"));
    })();
    const seen: string[] = [];
    for await (const frame of response.frames()) {
      const { type, object } = JSON.parse(frame);
      seen.push(`${type} ${object.metadata.name} ${object.spec.address}`);
      if (type === "DELETED") break;
    }
    await making;
    expect(seen).toEqual([...["first", ...names].map((name) => `ADDED ${name} a:80`), "DELETED e0 a:80"]);
  });

  test.each(["labelSelector=keep%3Dyes", "fieldSelector=spec.address%3Da:80"])(
    "that stop matching %s leave a watch of the other version by a DELETED event with their last matching state",
    async (selector) => {
      await define();
      const response = await server.call({ method: "GET", target: `${of("v2")}?watch=true&${selector}` });
      await ask("POST", of("v1"), v1("one", { labels: { keep: "yes" } }));
      await ask("PATCH", of("v1", "one"), { metadata: { labels: { keep: "no" } }, spec: { port: 81 } });
      await ask("POST", of("v1"), v1("two", { labels: { keep: "yes" } }));
      const seen: string[] = [];
      for await (const frame of response.frames()) {
        const { type, object } = JSON.parse(frame);
        seen.push(`${type} ${object.metadata.name} ${object.spec?.address}`);
        if (seen.length === 3 || type === "ERROR") break;
      }
      expect(seen).toEqual(["ADDED one a:80", "DELETED one a:80", "ADDED two a:80"]);
    },
  );

  test("cause at most two calls to the webhook for 20 watches of the other version", async () => {
    await define();
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => server.call({ method: "GET", target: `${of("v2")}?watch=true` })),
    );
    webhook.delayMs = () => 50;
    await ask("POST", of("v1"), v1("one"));
    for (const response of responses)
      for await (const frame of response.frames()) {
        expect(JSON.parse(frame).object.spec.address).toBe("a:80");
        break;
      }
    expect(webhook.requests.length).toBeLessThanOrEqual(2);
  });
});

describe("if the webhook fails,", () => {
  test("the stored version is still served, and a request for the other version returns an error with the reason", async () => {
    await define();
    await ask("POST", of("v1"), v1("one"));
    await webhook.stop();
    expect(await ask("GET", of("v1", "one"))).toMatchObject({ spec: { host: "a" } });
    expect((await ask("GET", of("v1"))).items).toHaveLength(1);
    const url = `https://127.0.0.1:${webhook.port}/convert?timeout=30s`;
    const failed = (kind: string): Json => ({
      kind: "Status",
      code: 500,
      message: `conversion webhook for net.example.com/${kind}, Kind=Endpoint failed: Post "${url}": dial tcp 127.0.0.1:${webhook.port}: connect: connection refused`,
    });
    const read = await ask("GET", of("v2", "one"));
    expect(read).toMatchObject(failed("v1"));
    expect(read.reason).toBeUndefined();
    expect(await ask("GET", of("v2"))).toMatchObject(failed("v1"));
    expect(await ask("GET", `${of("v2")}?watch=true`)).toMatchObject(failed("v1"));
    expect(await ask("POST", of("v2"), v2("two"))).toMatchObject(failed("v2"));
    expect(await ask("GET", of("v1", "two"))).toMatchObject({ code: 404 });
    await webhook.start();
    expect(await ask("GET", of("v2", "one"))).toMatchObject({ spec: { address: "a:80" } });
  });

  test("an open watch of the other version ends with an error", async () => {
    await define();
    const response = await server.call({ method: "GET", target: `${of("v2")}?watch=true` });
    await webhook.stop();
    await ask("POST", of("v1"), v1("one"));
    const frames: Json[] = [];
    for await (const frame of response.frames()) frames.push(JSON.parse(frame));
    expect(frames).toMatchObject([{ type: "ERROR", object: { kind: "Status", code: 500 } }]);
  });

  test("because its certificate does not match the caBundle, it receives no objects", async () => {
    const other = new ConversionWebhook();
    await define(endpointDefinition({ ...webhook.clientConfig, caBundle: other.caBundle }));
    await ask("POST", of("v1"), v1("one"));
    expect(await ask("GET", of("v2", "one"))).toMatchObject({ code: 500 });
    expect(webhook.requests).toHaveLength(0);
  });
});

const FAILED = "conversion webhook for net.example.com/v1, Kind=Endpoint ";

describe("the server rejects a webhook response", () => {
  const object = (change: (object: Json) => Json) => (review: Json) => {
    review.response.convertedObjects = review.response.convertedObjects.map(change);
    return review;
  };
  const metadata = (more: Json) => object((one) => ({ ...one, metadata: { ...one.metadata, ...more } }));
  test.each<[why: string, tamper: (review: Json) => Json, message: string]>([
    [
      "without objects",
      (r) => ({ ...r, response: { ...r.response, convertedObjects: [] } }),
      "returned 0 objects, expected 1",
    ],
    [
      "with another uid",
      (r) => ({ ...r, response: { ...r.response, uid: "x" } }),
      'failed: expected response.uid="UID", got "x"',
    ],
    [
      "that reports a failure",
      (r) => ({ ...r, response: { ...r.response, result: { status: "Failure", message: "no" } } }),
      "failed: no",
    ],
    [
      "without a result status",
      (r) => ({ ...r, response: { uid: r.response.uid } }),
      "failed: response.result.status was '', not 'Success'",
    ],
    [
      "of the wrong version",
      object((one) => ({ ...one, apiVersion: "net.example.com/v1" })),
      "returned invalid object at index 0: invalid groupVersion (expected net.example.com/v2, received net.example.com/v1)",
    ],
    [
      "of another kind",
      object((one) => ({ ...one, kind: "Other" })),
      "returned invalid object at index 0: invalid kind (expected Endpoint, received Other)",
    ],
    ["with another name", metadata({ name: "two" }), "returned invalid object: must have the same name: one != two"],
    [
      "with labels that are not strings",
      metadata({ labels: { a: 1 } }),
      "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
    ],
    ["with status 400", () => ({ httpStatus: 400 }), "failed: the server rejected our request for an unknown reason"],
    [
      "with status 500",
      () => ({ httpStatus: 500, text: "oh\n", contentType: "text/plain" }),
      'failed: an error on the server ("oh") has prevented the request from succeeding',
    ],
    [
      "that is not JSON",
      () => ({ text: "{" }),
      "failed: couldn't get version/kind; json parse error: unexpected end of JSON input",
    ],
    [
      "that is nested too deeply",
      () => ({ text: "[".repeat(100_000) }),
      "failed: couldn't get version/kind; json parse error: exceeded max depth",
    ],
  ])("%s", async (_why, tamper, message) => {
    await define();
    await ask("POST", of("v1"), v1("one"));
    webhook.tamper = tamper;
    const response = await ask("GET", of("v2", "one"));
    const { uid } = webhook.requests[0].request;
    expect(response).toMatchObject({ code: 500, message: FAILED + message.replace("UID", uid) });
    expect(await ask("GET", of("v1", "one"))).toMatchObject({ spec: { host: "a" } });
  });
});

test("a webhook can change labels, but not finalizers, generation or owner references", async () => {
  await define();
  const made = await ask("POST", of("v1"), v1("one", { labels: { a: "1" }, finalizers: ["example.com/f"] }));
  webhook.tamper = (review) => {
    const [one] = review.response.convertedObjects;
    one.metadata = { ...one.metadata, labels: { b: "2" }, finalizers: [], generation: 7, ownerReferences: [{ a: 1 }] };
    return review;
  };
  const read = await ask("GET", of("v2", "one"));
  expect(read.metadata).toMatchObject({
    uid: made.metadata.uid,
    labels: { b: "2" },
    finalizers: ["example.com/f"],
    generation: 1,
  });
  expect(read.metadata.ownerReferences).toBeUndefined();
});

test("a webhook that is reached through a Service fails until the Service exists and resolves to the webhook", async () => {
  const service = { namespace: "default", name: "hook", path: "/convert/", port: webhook.port };
  await define(endpointDefinition({ service, caBundle: webhook.caBundle }));
  await ask("POST", of("v1"), v1("one"));
  expect(await ask("GET", of("v2", "one"))).toMatchObject({
    code: 500,
    message: `${FAILED}failed: Post "https://hook.default.svc:${webhook.port}/convert?timeout=30s": service "hook" not found`,
  });
  await ask("POST", "/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "hook" },
    spec: { type: "ExternalName", externalName: "127.0.0.1.nip.test" },
  });
  const missing = await ask("GET", of("v2", "one"));
  expect(missing.message).toContain(`Post "https://hook.default.svc:${webhook.port}/convert?timeout=30s": `);
  await ask("PATCH", "/api/v1/namespaces/default/services/hook", { spec: { externalName: "localhost" } });
  await expect.poll(() => ask("GET", of("v2", "one"))).toMatchObject({ spec: { address: "a:80" } });
});

test("an object can be applied in either version", async () => {
  await define();
  const apply = async (version: string, body: Json): Promise<Json> => {
    const target = `${of(version, "one")}?fieldManager=me`;
    const headers = { "content-type": "application/apply-patch+yaml" };
    const response = await server.call({ method: "PATCH", target, headers, body: JSON.stringify(body) });
    return response.json();
  };
  expect(await apply("v1", v1("one", { labels: { a: "1" } }))).toMatchObject({ metadata: { labels: { a: "1" } } });
  expect(await apply("v2", v2("one", "b:90"))).toMatchObject({ spec: { address: "b:90" } });
  const read = await ask("GET", of("v1", "one"));
  expect(read).toMatchObject({ spec: { host: "b", port: 90 } });
});
