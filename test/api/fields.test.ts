/**
 * Tests of fields that a newer server has stored, in a cluster with an older server. The servers do not proxy requests
 * here.
 */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { header, PODS, startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";

let young: TestServer;
let old: TestServer;

beforeEach(async () => {
  const world = new World({ seed: 1 });
  young = await startServer({ world, release: "1.33" });
  old = await startServer({ world, release: "1.31" });
});

afterEach(async () => {
  await old[Symbol.asyncDispose]();
  await young[Symbol.asyncDispose]();
});

/** 1.31 supports neither `spec.resources` nor `lifecycle.stopSignal`. */
function novelPod(name: string): Json {
  const main = { name: "main", image: "main", lifecycle: { stopSignal: "SIGUSR1" } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { os: { name: "linux" }, resources: { limits: { cpu: "1" } }, containers: [main, { name: "b", image: "b" }] },
  };
}

function workload(): Json {
  const { spec } = novelPod("x");
  const labels = { app: "x" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

/** The pod as a client of the older release sends it: without the fields that this release does not define. */
function asOldClientKnows(pod: Json): Json {
  const { resources: _resources, ...spec } = pod.spec;
  const containers = spec.containers.map(({ lifecycle: _lifecycle, ...rest }: Json) =>
    _lifecycle === undefined ? rest : { ...rest, lifecycle: {} },
  );
  return { ...pod, spec: { ...spec, containers } };
}

async function stored(target: string): Promise<Json> {
  return (await young.get(target)).body;
}

/** Sends a request to the older server with strict field validation. */
function strictly(method: string, target: string, body: Json, type = "application/json"): Promise<ApiTestResponse> {
  const options = { headers: { "content-type": type } };
  return old.call(method, `${target}?fieldValidation=Strict`, JSON.stringify(body), options);
}

function outcome(response: ApiTestResponse): [number, string | undefined, string | undefined] {
  const { status, body } = response;
  return [status, header(response, "warning"), status < 400 ? undefined : body.message];
}

describe("a server returns stored fields that its release does not define", () => {
  test("in GET, LIST and watch events", async () => {
    const watch = await old.watch(`${PODS}?watch=true&resourceVersion=0`);
    await young.create(PODS, novelPod("one"));
    const events = await watch.events();
    expect(events.at(-1).object.spec.resources).toEqual({ limits: { cpu: "1" } });
    expect((await old.get(`${PODS}/one`)).body.spec.resources).toEqual({ limits: { cpu: "1" } });
    expect((await old.get(PODS)).body.items[0].spec.resources).toEqual({ limits: { cpu: "1" } });
  });
});

describe("a write through the older server keeps fields that the server does not define", () => {
  test("if the client sends back the object unchanged, even with strict field validation", async () => {
    await young.create(PODS, novelPod("one"));
    const { body: read } = await old.get(`${PODS}/one`);
    const response = await strictly("PUT", `${PODS}/one`, read);
    expect(outcome(response)).toEqual([200, undefined, undefined]);
    expect(await stored(`${PODS}/one`)).toEqual(read);
  });

  test("if an older client sends back the object without these fields", async () => {
    await young.create(PODS, novelPod("one"));
    const { body: read } = await old.get(`${PODS}/one`);
    const { managedFields: _fields, ...metadata } = read.metadata;
    const response = await strictly("PUT", `${PODS}/one`, { ...asOldClientKnows(read), metadata });
    expect(outcome(response)).toEqual([200, undefined, undefined]);
    expect(await stored(`${PODS}/one`)).toEqual(read);
  });

  test("if a PUT changes other fields, and the kept fields keep their managers", async () => {
    await young.call("POST", `${PODS}?fieldManager=maker`, JSON.stringify(novelPod("one")));
    const sent = asOldClientKnows(await stored(`${PODS}/one`));
    delete sent.metadata.managedFields;
    sent.spec.containers[0].image = "other";
    const response = await old.call("PUT", `${PODS}/one?fieldManager=changer`, JSON.stringify(sent));
    expect(outcome(response)).toEqual([200, undefined, undefined]);
    const { spec, metadata } = await stored(`${PODS}/one`);
    expect(spec.resources).toEqual({ limits: { cpu: "1" } });
    expect(spec.containers[0]).toMatchObject({ ...novelPod("one").spec.containers[0], image: "other" });
    const owned = (manager: string): string =>
      JSON.stringify(metadata.managedFields.find((entry: Json) => entry.manager === manager).fieldsV1);
    expect(owned("maker")).toContain(`"f:stopSignal"`);
    expect(owned("maker")).toContain(`"f:resources":{".":{},"f:limits"`);
    expect(owned("changer")).toBe(`{"f:spec":{"f:containers":{"k:{\\"name\\":\\"main\\"}":{"f:image":{}}}}}`);
  });

  test.each<[type: string, body: Json]>([
    ["merge-patch", { metadata: { labels: { a: "1" } } }],
    [
      "merge-patch",
      {
        spec: {
          containers: [
            { name: "main", image: "other", lifecycle: {} },
            { name: "b", image: "b" },
          ],
        },
      },
    ],
    ["json-patch", [{ op: "replace", path: "/spec/containers/0/image", value: "other" }]],
  ])("after a patch: %s %j", async (type, body) => {
    await young.create(PODS, novelPod("one"));
    const response = await strictly("PATCH", `${PODS}/one`, body, `application/${type}+json`);
    expect(outcome(response)).toEqual([200, undefined, undefined]);
    const { spec } = await stored(`${PODS}/one`);
    expect([spec.resources, spec.containers[0].lifecycle]).toEqual([
      { limits: { cpu: "1" } },
      { stopSignal: "SIGUSR1" },
    ]);
  });

  test("in the status, after a write of the status", async () => {
    await young.create(PODS, novelPod("one"));
    await young.mergePatch(`${PODS}/one/status`, { status: { observedGeneration: 7, message: "m" } });
    const { body: read } = await old.get(`${PODS}/one`);
    const { observedGeneration: _novel, ...status } = read.status;
    const put = await strictly("PUT", `${PODS}/one/status`, {
      ...asOldClientKnows(read),
      status: { ...status, message: "n" },
    });
    expect(outcome(put)).toEqual([200, undefined, undefined]);
    const patched = await strictly(
      "PATCH",
      `${PODS}/one/status`,
      { status: { reason: "r" } },
      "application/merge-patch+json",
    );
    expect(outcome(patched)).toEqual([200, undefined, undefined]);
    const now = await stored(`${PODS}/one`);
    expect(now.spec).toEqual(read.spec);
    expect(now.status).toEqual({ ...read.status, message: "n", reason: "r" });
  });

  test("after writes of scale, ephemeral containers and binding, and a graceful deletion", async () => {
    await young.create(DEPLOYMENTS, workload());
    await old.mergePatch(`${DEPLOYMENTS}/web/scale`, { spec: { replicas: 3 } });
    expect((await stored(`${DEPLOYMENTS}/web`)).spec).toMatchObject({ ...workload().spec, replicas: 3 });

    await young.create(PODS, novelPod("one"));
    const debug = { name: "debug", image: "debug", targetContainerName: "main" };
    await old.mergePatch(`${PODS}/one/ephemeralcontainers`, { spec: { ephemeralContainers: [debug] } });
    const binding = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "one" },
      target: { kind: "Node", name: "n" },
    };
    expect((await old.create(`${PODS}/one/binding`, binding)).status).toBe(201);
    await old.call("DELETE", `${PODS}/one?gracePeriodSeconds=30`);
    const { spec, metadata } = await stored(`${PODS}/one`);
    expect(metadata.deletionGracePeriodSeconds).toBe(30);
    expect([spec.nodeName, spec.ephemeralContainers.length]).toEqual(["n", 1]);
    expect(spec).toMatchObject({ resources: { limits: { cpu: "1" } }, containers: novelPod("one").spec.containers });
  });

  test("in the template of a workload, after any sequence of writes", async () => {
    await young.create(DEPLOYMENTS, workload());
    const template = (await stored(`${DEPLOYMENTS}/web`)).spec.template;
    const operation = fc.oneof(
      fc.record({ kind: fc.constant("put"), value: fc.nat(9) }),
      fc.record({ kind: fc.constant("put the fields of an old client"), value: fc.nat(9) }),
      fc.record({ kind: fc.constant("merge"), value: fc.nat(9) }),
      fc.record({ kind: fc.constant("json"), value: fc.nat(9) }),
      fc.record({ kind: fc.constant("scale"), value: fc.nat(9) }),
      fc.record({ kind: fc.constant("status"), value: fc.nat(9) }),
    );
    const perform = async ({ kind, value }: { kind: string; value: number }): Promise<ApiTestResponse> => {
      const target = `${DEPLOYMENTS}/web`;
      const { body } = await old.get(target);
      const changed = { ...body, spec: { ...body.spec, minReadySeconds: value } };
      switch (kind) {
        case "put":
          return old.put(target, changed);
        case "put the fields of an old client": {
          const spec = { ...changed.spec, template: asOldClientKnows(changed.spec.template) };
          return old.put(target, { ...changed, spec });
        }
        case "merge":
          return old.mergePatch(target, { spec: { minReadySeconds: value } });
        case "json":
          return old.jsonPatch(target, [{ op: "add", path: "/spec/minReadySeconds", value }]);
        case "scale":
          return old.mergePatch(`${target}/scale`, { spec: { replicas: value } });
        default:
          return old.put(`${target}/status`, { ...body, status: { replicas: value, terminatingReplicas: undefined } });
      }
    };
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 4 }), async (operations) => {
        for (const one of operations) {
          const response = await perform(one);
          expect([response.status, header(response, "warning")]).toEqual([200, undefined]);
          expect((await stored(`${DEPLOYMENTS}/web`)).spec.template).toEqual(template);
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("without a proxy, a field that the older server does not define is subject to field validation:", () => {
  const DROPPED = '299 - "unknown field \\"spec.resources\\""';

  test("a changed value is dropped with a warning, or rejected with Strict", async () => {
    await young.create(DEPLOYMENTS, workload());
    const { body: read } = await old.get(`${DEPLOYMENTS}/web`);
    const changed = structuredClone(read);
    changed.spec.template.spec.resources = { limits: { cpu: "2" } };
    const rejected = await strictly("PUT", `${DEPLOYMENTS}/web`, changed);
    expect([rejected.status, rejected.body.message]).toEqual([
      400,
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.template.spec.resources"',
    ]);
    expect(await stored(`${DEPLOYMENTS}/web`)).toEqual(read);
    const dropped = '299 - "unknown field \\"spec.template.spec.resources\\""';
    expect(outcome(await old.put(`${DEPLOYMENTS}/web`, changed))).toEqual([200, dropped, undefined]);
    const { spec } = (await stored(`${DEPLOYMENTS}/web`)).spec.template;
    expect([spec.resources, spec.containers[0].lifecycle]).toEqual([undefined, { stopSignal: "SIGUSR1" }]);
  });

  test.each<[type: string, body: Json]>([
    ["merge-patch", { spec: { template: { spec: { resources: null } } } }],
    ["json-patch", [{ op: "remove", path: "/spec/template/spec/resources" }]],
  ])("%s %j removes the stored field", async (type, body) => {
    await young.create(DEPLOYMENTS, workload());
    const response = await strictly("PATCH", `${DEPLOYMENTS}/web`, body, `application/${type}+json`);
    expect(outcome(response)).toEqual([200, undefined, undefined]);
    const { spec } = (await stored(`${DEPLOYMENTS}/web`)).spec.template;
    expect([spec.resources, spec.containers[0].lifecycle]).toEqual([undefined, { stopSignal: "SIGUSR1" }]);
  });

  test("a new object is stored without such fields, with a warning for each", async () => {
    const response = await old.create(PODS, novelPod("one"));
    expect(outcome(response)).toEqual([
      201,
      `${DROPPED}, 299 - "unknown field \\"spec.containers[0].lifecycle.stopSignal\\""`,
      undefined,
    ]);
    expect(response.body.spec.resources).toBeUndefined();
  });

  test("a PUT of a missing object with such a field returns 400 with Strict and 404 otherwise", async () => {
    const wrong = { apiVersion: "v1", kind: "Pod", metadata: { name: "none" }, wrong: 1 };
    expect((await strictly("PUT", `${PODS}/none`, wrong)).status).toBe(400);
    expect((await old.put(`${PODS}/none`, wrong)).status).toBe(404);
  });
});
