/**
 * Tests of mutating and validating webhooks over real TLS, because most failures of webhooks occur in the TLS
 * connection.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { InProcessRequest } from "../../src/client/in-process.ts";
import { headerValue } from "../../src/serving/http/message.ts";
import { buildServer, type Server } from "../../src/server/build-server.ts";
import { resolveOptions } from "../../src/server/config.ts";
import { createNodeEnv } from "../../src/server/env-node.ts";
import { createMemoryStore, type MemoryStore } from "../../src/storage/kv-memory/kv.ts";
import { AdmissionWebhook, jsonPatch } from "./admission-webhook-server.ts";
import type { Json } from "./start.ts";

const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1";
const MAPS = "/api/v1/namespaces/default/configmaps";

let webhook: AdmissionWebhook;
let server: Server;

const env = createNodeEnv({ logLevel: "error", write: () => undefined });
let store: MemoryStore;

/** Starts a server without the ServiceAccount plugin, so that pods need no service accounts. */
async function startServer(hostname: string): Promise<Server> {
  const access = { disableAdmissionPlugins: ["ServiceAccount"] };
  const started = await buildServer(
    { ...env, openKv: () => Promise.resolve(store.open()) },
    resolveOptions({ storage: { kind: "memory" }, strictRelease: true, peers: { hostname }, access }),
  );
  await started.ready;
  return started;
}

async function end(started: Server): Promise<void> {
  started.endWatches();
  await started.close();
}

beforeEach(async () => {
  webhook = new AdmissionWebhook();
  await webhook.start();
  store = createMemoryStore({ clock: env.clock });
  server = await startServer("here");
});

afterEach(async () => {
  await end(server);
  await webhook.stop();
});

async function ask(method: string, target: string, body?: Json, asked = server): Promise<Json> {
  const headers: Record<string, string> = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
  const request: InProcessRequest = {
    method,
    target,
    headers,
    ...(body === undefined ? {} : { body }),
  };
  const response = await asked.call(method === "PATCH" ? { ...request, body: JSON.stringify(body) } : request);
  const answer = JSON.parse(await response.text());
  return {
    ...answer,
    httpStatus: response.status,
    warning: headerValue(response.headers, "warning"),
  };
}

/**
 * Creates the webhook configurations, waits until the server calls all their webhooks, and clears the recorded
 * requests.
 */
async function configure(...configurations: readonly Json[]): Promise<void> {
  for (const object of configurations) {
    const { code, message } = await ask("POST", `${CONFIGURATIONS}/${object.kind.toLowerCase()}s`, object);
    expect([code, message]).toEqual([undefined, undefined]);
  }
  const count = configurations.flatMap(({ webhooks }) => webhooks).length;
  // Each webhook has its own path, so the number of paths is the number of webhooks that were called.
  await expect
    .poll(async () => {
      await ask("POST", `${MAPS}?dryRun=All`, map("probe"));
      return new Set(webhook.targets).size;
    })
    .toBe(count);
  webhook.requests.length = 0;
  webhook.targets.length = 0;
}

const map = (name: string, data: Json = { a: "1" }): Json => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
});

describe("a validating webhook", () => {
  test("receives every write, and its denial is returned to the client", async () => {
    await configure(webhook.configuration("Validating", "v", {}));
    await ask("POST", MAPS, map("one"));
    await ask("PUT", `${MAPS}/one`, map("one", { a: "2" }));
    await ask("PATCH", `${MAPS}/one`, { data: { a: "3" } });
    await ask("DELETE", `${MAPS}/one`);
    expect(webhook.targets).toEqual(Array.from({ length: 4 }, () => "/?timeout=5s"));
    expect(
      webhook.requests.map(({ request }) => [request.operation, request.oldObject?.data, request.object?.data]),
    ).toEqual([
      ["CREATE", undefined, { a: "1" }],
      ["UPDATE", { a: "1" }, { a: "2" }],
      ["UPDATE", { a: "2" }, { a: "3" }],
      ["DELETE", { a: "3" }, undefined],
    ]);
    webhook.answer = () => ({
      allowed: false,
      status: { code: 418, reason: "Tea", message: "no" },
      warnings: ["hot"],
    });
    const rejected = await ask("POST", MAPS, map("two"));
    expect(rejected).toMatchObject({ kind: "Status", status: "Failure", reason: "Tea", code: 418, httpStatus: 418 });
    expect(rejected.message).toBe('admission webhook "v.example.com" denied the request: no');
    expect(rejected.warning).toBe('299 - "hot"');
    expect(await ask("GET", `${MAPS}/two`)).toMatchObject({ reason: "NotFound" });
  });

  test("that fails makes the write fail, unless its failure policy is Ignore", async () => {
    await configure(webhook.configuration("Validating", "v", {}));
    webhook.answer = () => ({ httpStatus: 500, text: "boom" });
    expect(await ask("POST", MAPS, map("one"))).toMatchObject({
      reason: "InternalError",
      message: expect.stringMatching(
        /^Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: /,
      ),
    });
    const { webhooks } = webhook.configuration("Validating", "v", { failurePolicy: "Ignore" });
    const open = await ask("PATCH", `${CONFIGURATIONS}/validatingwebhookconfigurations/v`, {
      webhooks,
    });
    expect(open).toMatchObject({ webhooks: [{ failurePolicy: "Ignore" }] });
    await expect.poll(async () => (await ask("POST", MAPS, map("one"))).metadata?.name).toBe("one");
    expect(webhook.requests.length).toBeGreaterThan(1);
  });
});

describe("mutating webhooks", () => {
  test("change the object before it is validated and stored, and are called again after a later change if reinvocationPolicy is IfNeeded", async () => {
    await configure(
      webhook.configuration("Mutating", "b", { path: "/b" }),
      webhook.configuration("Mutating", "a", { path: "/a", reinvocationPolicy: "IfNeeded" }),
      webhook.configuration("Validating", "v", { path: "/v" }),
    );
    webhook.answer = (_, path) =>
      path === "/v"
        ? {}
        : jsonPatch({ op: "add", path: `/data${path}`, value: "x" }, { op: "add", path: "/unknown", value: 1 });
    const made = await ask("POST", MAPS, map("one"));
    expect(made.data).toEqual({ a: "x", b: "x" });
    expect(made.unknown).toBeUndefined();
    expect(webhook.targets.map((target) => target.slice(1, 2))).toEqual(["a", "b", "a", "v"]);
    expect(webhook.requests.at(-1).request.object.data).toEqual({ a: "x", b: "x" });
    expect(await ask("GET", `${MAPS}/one`)).toMatchObject({ data: { a: "x", b: "x" } });
  });

  test("cannot set the uid, creationTimestamp or deletionTimestamp of an object", async () => {
    await configure(webhook.configuration("Mutating", "m", {}));
    const patch = ["uid", "creationTimestamp", "deletionTimestamp"].map((member) => ({
      ...{ op: "add", path: `/metadata/${member}`, value: member === "uid" ? "mine" : "2001-02-03T04:05:06Z" },
    }));
    webhook.answer = () => jsonPatch(...patch);
    const { metadata } = await ask("POST", MAPS, map("one"));
    expect(metadata).not.toHaveProperty("deletionTimestamp");
    expect([metadata.uid === "mine", metadata.creationTimestamp.startsWith("2001")]).toEqual([false, false]);
  });

  test("cannot make an object invalid or move it to another namespace", async () => {
    await configure(webhook.configuration("Mutating", "m", {}));
    webhook.answer = () => jsonPatch({ op: "add", path: "/metadata/labels", value: { "-": "" } });
    expect(await ask("POST", MAPS, map("one"))).toMatchObject({ code: 422, reason: "Invalid" });
    webhook.answer = () => jsonPatch({ op: "replace", path: "/metadata/namespace", value: "kube-system" });
    expect(await ask("POST", MAPS, map("one"))).toMatchObject({
      code: 400,
      message: "the namespace of the provided object does not match the namespace sent on the request",
    });
    webhook.answer = () => jsonPatch({ op: "replace", path: "/data/a", value: 5 });
    expect(await ask("POST", MAPS, map("one"))).toMatchObject({
      code: 500,
      message:
        "Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    });
  });
});

test("a webhook that denies every request does not prevent the deletion of its own configuration", async () => {
  const everything = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
  await configure(webhook.configuration("Validating", "v", { rules: everything }));
  webhook.answer = () => ({ allowed: false });
  expect(await ask("POST", MAPS, map("one"))).toMatchObject({ code: 400 });
  expect(await ask("DELETE", `${CONFIGURATIONS}/validatingwebhookconfigurations/v`)).toMatchObject({
    status: "Success",
  });
  await expect.poll(async () => (await ask("POST", MAPS, map("one"))).metadata?.name).toBe("one");
});

describe("webhooks receive", () => {
  const EVERYTHING = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
  const PODS = "/api/v1/namespaces/default/pods";
  const about = ({ request }: Json): string =>
    [request.operation, request.kind.kind, request.resource.resource, request.subResource].join(" ").trim();

  async function receivedRequest(method: string, target: string, body?: Json): Promise<Json> {
    webhook.requests.length = 0;
    await ask(method, target, body);
    expect(webhook.requests.map(about)).toEqual([about(webhook.requests[0])]);
    return { ...webhook.requests[0].request, about: about(webhook.requests[0]) };
  }

  test("virtual subresources with their kind, resource and subresource", async () => {
    await ask("POST", PODS, { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } });
    const workload = {
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    };
    const WORKLOADS = "/apis/apps/v1/namespaces/default/deployments";
    await ask("POST", WORKLOADS, { metadata: { name: "d" }, spec: workload });
    await configure(webhook.configuration("Validating", "v", { rules: EVERYTHING }));
    const scaled = { metadata: { name: "d" }, spec: { replicas: 3 } };
    expect(await receivedRequest("PUT", `${WORKLOADS}/d/scale`, scaled)).toMatchObject({
      about: "UPDATE Scale deployments scale",
      kind: { group: "autoscaling", version: "v1" },
      object: { kind: "Scale", metadata: { namespace: "default" }, spec: { replicas: 3 } },
      oldObject: { kind: "Scale", spec: { replicas: 1 } },
    });
    expect(
      await receivedRequest("POST", `${PODS}/p/binding`, { metadata: { name: "p" }, target: { name: "n" } }),
    ).toMatchObject({
      about: "CREATE Binding pods binding",
      object: { metadata: { name: "p", namespace: "default" }, target: { name: "n" } },
    });
    expect(await receivedRequest("POST", `${PODS}/p/eviction?dryRun=All`, { metadata: { name: "p" } })).toMatchObject({
      ...{ about: "CREATE Eviction pods eviction", dryRun: true, kind: { group: "policy" } },
      object: { metadata: { name: "p", namespace: "default" } },
    });
    expect(await receivedRequest("POST", `${PODS}/p/exec?command=ls&command=-l&stdin=1&stdout=0`)).toMatchObject({
      ...{ about: "CONNECT PodExecOptions pods exec", name: "p", options: null, oldObject: null },
      object: { kind: "PodExecOptions", apiVersion: "v1", command: ["ls", "-l"], stdin: true },
    });
    expect(await receivedRequest("POST", `${PODS}/gone/portforward?ports=80,81`)).toMatchObject({
      ...{ about: "CONNECT PodPortForwardOptions pods portforward", object: { ports: [80, 81] } },
    });
    expect(await receivedRequest("GET", `${PODS}/p/proxy/a/b/`)).toMatchObject({
      ...{ about: "CONNECT PodProxyOptions pods proxy", object: { path: "/a/b/" } },
    });
  });

  test("objects with apiVersion, kind, empty status and the namespace of the request path", async () => {
    await configure(
      webhook.configuration("Mutating", "m", { rules: [{ ...EVERYTHING[0], resources: ["pods", "configmaps"] }] }),
    );
    const spec = { containers: [{ name: "c", image: "i" }] };
    const { object } = await receivedRequest("POST", PODS, { metadata: { name: "p" }, spec });
    expect(object).toMatchObject({ apiVersion: "v1", kind: "Pod", metadata: { namespace: "default" }, status: {} });
    await ask("POST", MAPS, map("one"));
    const update = await receivedRequest("PUT", `${MAPS}/one`, { metadata: { name: "one" }, data: { a: "2" } });
    expect(update.object.metadata).toMatchObject({ name: "one", namespace: "default" });
    webhook.answer = () => jsonPatch({ op: "add", path: "/status/phase", value: "Running" });
    expect(await ask("POST", PODS, { metadata: { name: "q" }, spec })).toMatchObject({ status: { phase: "Pending" } });
  });

  test("custom resources, and the patched objects are pruned and validated", async () => {
    const schema = {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
      },
    };
    const names = { plural: "widgets", kind: "Widget" };
    const versions = [{ name: "v1", served: true, storage: true, schema }];
    const spec = { group: "example.com", scope: "Namespaced", names, versions };
    await ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "widgets.example.com" },
      spec,
    });
    const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";
    const widget = (name: string): Json => ({
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name },
      spec: {},
    });
    await expect.poll(async () => (await ask("POST", WIDGETS, widget("a"))).httpStatus).toBe(201);
    await configure(
      webhook.configuration("Mutating", "m", { rules: [{ ...EVERYTHING[0], resources: ["widgets", "configmaps"] }] }),
    );
    webhook.answer = () => jsonPatch({ op: "add", path: "/spec", value: { size: 7, unknown: 1 } });
    expect((await ask("POST", WIDGETS, widget("b"))).spec).toEqual({ size: 7 });
    webhook.answer = () => jsonPatch({ op: "add", path: "/spec", value: { size: "large" } });
    expect(await ask("POST", WIDGETS, widget("c"))).toMatchObject({ code: 422 });
  });
});

test("webhooks with sideEffects None or NoneOnDryRun receive dry runs, and a configuration with sideEffects Some is rejected", async () => {
  await configure(webhook.configuration("Validating", "v", {}));
  const { webhooks } = webhook.configuration("Validating", "v", { sideEffects: "NoneOnDryRun" });
  const target = `${CONFIGURATIONS}/validatingwebhookconfigurations/v`;
  expect(await ask("POST", `${MAPS}?dryRun=All`, map("one"))).toMatchObject({ httpStatus: 201 });
  expect(await ask("PATCH", target, { webhooks })).toMatchObject({ webhooks: [{ sideEffects: "NoneOnDryRun" }] });
  expect(await ask("POST", `${MAPS}?dryRun=All`, map("one"))).toMatchObject({ httpStatus: 201 });
  expect(webhook.requests.at(-1).request.dryRun).toBe(true);
  expect(await ask("PATCH", target, { webhooks: [{ ...webhooks[0], sideEffects: "Some" }] })).toMatchObject({
    code: 422,
  });
});

test("warnings about the body are sent even if a webhook fails", async () => {
  await configure(webhook.configuration("Validating", "v", {}));
  webhook.answer = () => ({ httpStatus: 500, text: "boom" });
  expect(await ask("POST", MAPS, { ...map("one"), unknown: 1 })).toMatchObject({
    reason: "InternalError",
    warning: '299 - "unknown field \\"unknown\\""',
  });
});

test("a webhook that is configured through one server is called by the other servers too", async () => {
  const other = await startServer("there");
  try {
    await configure(webhook.configuration("Validating", "v", {}));
    webhook.answer = () => ({ allowed: false, status: { message: "no" } });
    await expect
      .poll(async () => (await ask("POST", MAPS, map("one"), other)).message)
      .toContain("denied the request: no");
    const target = `${CONFIGURATIONS}/validatingwebhookconfigurations/v`;
    expect(await ask("DELETE", target, undefined, other)).toMatchObject({ status: "Success" });
    await expect.poll(async () => (await ask("POST", MAPS, map("one"))).metadata?.name).toBe("one");
  } finally {
    await end(other);
  }
});
