/** Tests of subresources that do more than write one part of the stored object: scale, binding, eviction and others. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SIGNING_REQUEST } from "../testing/objects/kinds/access/signing-request.ts";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { encodeProtobufObject } from "../testing/objects/protobuf/encode.ts";
import {
  header,
  names,
  pod,
  PODS,
  startServer,
  deployment,
  type ApiTestResponse,
  type Json,
  type TestServer,
} from "./start.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
const SUCCESS = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };

let server: TestServer;

beforeEach(async () => {
  server = await startServer();
});

afterEach(() => server[Symbol.asyncDispose]());

function scale(name: string, replicas: number, metadata: Json = {}): Json {
  return { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name, ...metadata }, spec: { replicas } };
}

function binding(name: string, node: string, metadata: Json = {}): Json {
  return { apiVersion: "v1", kind: "Binding", metadata: { name, ...metadata }, target: { kind: "Node", name: node } };
}

function eviction(name: string, deleteOptions?: Json): Json {
  return {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name, namespace: "default" },
    ...(deleteOptions === undefined ? {} : { deleteOptions }),
  };
}

/** Changes a stored value directly in the store, because the API does not allow such a change. */
async function overwrite(key: string, text: string, by: string): Promise<void> {
  const { items } = await server.kv.range({ start: key });
  const { value: before, modRevision: expectedRevision } = items[0]!;
  const value = Buffer.from(before.toString("utf8").replace(text, by));
  await server.kv.commit({ kind: "put", key, value, expectedRevision });
  await server.world.advance(0);
}

async function created(response: Promise<ApiTestResponse>): Promise<Json> {
  const { status, body } = await response;
  expect(status).toBe(201);
  return body;
}

async function object(target: string): Promise<Json> {
  return (await server.get(target)).body;
}

function bind(name: string, node = "n1"): Promise<ApiTestResponse> {
  return server.create(`${PODS}/${name}/binding`, binding(name, node));
}

async function runningPod(name: string, more: Json = {}): Promise<Json> {
  await created(server.create(PODS, { ...pod(name), metadata: { name, labels: { app: "web" } }, ...more }));
  await created(bind(name));
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  const { body } = await server.mergePatch(`${PODS}/${name}/status`, { status });
  return body;
}

async function budget(name: string, status: Json, spec: Json = {}): Promise<void> {
  const selector = { matchLabels: { app: "web" } };
  await created(
    server.create(BUDGETS, {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name },
      spec: { minAvailable: 1, selector, ...spec },
    }),
  );
  const patched = await server.mergePatch(`${BUDGETS}/${name}/status`, {
    status: { observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, ...status },
  });
  expect(patched.status).toBe(200);
}

describe("the scale subresource", () => {
  beforeEach(() => created(server.create(DEPLOYMENTS, deployment("web", 3))));

  test("returns the replicas, the selector and the identity of the workload", async () => {
    const { metadata } = await object(`${DEPLOYMENTS}/web`);
    const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
    expect((await server.get(`${DEPLOYMENTS}/web/scale`)).body).toEqual({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas: 3 },
      status: { replicas: 0, selector: "app=web" },
    });
  });

  test("returns the label selector as a string in the order of its keys", async () => {
    const expressions = [
      { key: "tier", operator: "In", values: ["b", "a"] },
      { key: "env", operator: "NotIn", values: ["dev"] },
      { key: "zone", operator: "Exists" },
      { key: "old", operator: "DoesNotExist" },
    ];
    const sets = "/apis/apps/v1/namespaces/default/statefulsets";
    const labels = { app: "db", tier: "a", zone: "z" };
    const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "main" }] } };
    const spec = {
      serviceName: "db",
      selector: { matchLabels: { app: "db" }, matchExpressions: expressions },
      template,
    };
    await created(server.create(sets, { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "db" }, spec }));
    const { body } = await server.get(`${sets}/db/scale`);
    expect(body.status.selector).toBe("app=db,env notin (dev),!old,tier in (a,b),zone");
    expect(body.spec).toEqual({ replicas: 1 });
  });

  test("of a replication controller returns its selector map as a string", async () => {
    const controllers = "/api/v1/namespaces/default/replicationcontrollers";
    const template = {
      metadata: { labels: { b: "2", a: "1" } },
      spec: { containers: [{ name: "main", image: "main" }] },
    };
    const rc = {
      apiVersion: "v1",
      kind: "ReplicationController",
      metadata: { name: "old" },
      spec: { replicas: 2, selector: { b: "2", a: "1" }, template },
    };
    await created(server.create(controllers, rc));
    expect((await server.get(`${controllers}/old/scale`)).body.status).toEqual({ replicas: 0, selector: "a=1,b=2" });
    expect((await server.mergePatch(`${controllers}/old/scale`, { spec: { replicas: 5 } })).body.spec.replicas).toBe(5);
    expect((await object(`${controllers}/old`)).spec.replicas).toBe(5);
  });

  test("writes only the replicas with a PUT, and increments the generation", async () => {
    const before = await object(`${DEPLOYMENTS}/web`);
    const put = await server.put(`${DEPLOYMENTS}/web/scale`, {
      ...scale("web", 7, { labels: { a: "b" } }),
      status: { replicas: 99 },
    });
    expect([put.status, put.body.spec.replicas, put.body.status.replicas]).toEqual([200, 7, 0]);
    const after = await object(`${DEPLOYMENTS}/web`);
    expect(after.spec).toEqual({ ...before.spec, replicas: 7 });
    expect(after.metadata.generation).toBe(2);
    expect(after.metadata.labels).toBeUndefined();
    expect(put.body.metadata.resourceVersion).toBe(after.metadata.resourceVersion);
  });

  test("writes the replicas with a merge patch or a JSON patch, also to zero", async () => {
    expect((await server.mergePatch(`${DEPLOYMENTS}/web/scale`, { spec: { replicas: 4 } })).body.spec).toEqual({
      replicas: 4,
    });
    const patch = [
      { op: "test", path: "/spec/replicas", value: 4 },
      { op: "replace", path: "/spec/replicas", value: 0 },
    ];
    const zero = await server.jsonPatch(`${DEPLOYMENTS}/web/scale`, patch);
    expect([zero.status, zero.body.spec]).toEqual([200, {}]);
    expect((await object(`${DEPLOYMENTS}/web`)).spec.replicas).toBe(0);
  });

  test("gives ownership of the replicas to the manager of the PUT, in an entry without a time, and takes it from the creator", async () => {
    await server.call("PATCH", `${DEPLOYMENTS}/web/scale?fieldManager=hpa`, JSON.stringify({ spec: { replicas: 4 } }), {
      headers: { "content-type": "application/merge-patch+json" },
    });
    const { managedFields } = (await object(`${DEPLOYMENTS}/web`)).metadata;
    expect(managedFields).toHaveLength(2);
    const [byScale, creator] = managedFields;
    expect(byScale).toEqual({
      manager: "hpa",
      operation: "Update",
      apiVersion: "apps/v1",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:spec": { "f:replicas": {} } },
      subresource: "scale",
    });
    expect(creator.fieldsV1["f:spec"]["f:replicas"]).toBeUndefined();
    expect(creator.fieldsV1["f:spec"]["f:selector"]).toBeDefined();
  });

  test("treats a resourceVersion or a uid in a PUT as a precondition", async () => {
    const { resourceVersion } = (await object(`${DEPLOYMENTS}/web`)).metadata;
    expect((await server.put(`${DEPLOYMENTS}/web/scale`, scale("web", 4, { resourceVersion }))).status).toBe(200);
    const late = await server.put(`${DEPLOYMENTS}/web/scale`, scale("web", 5, { resourceVersion }));
    expect([late.status, late.body.message]).toEqual([
      409,
      'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again',
    ]);
    expect((await server.put(`${DEPLOYMENTS}/web/scale`, scale("web", 5, { uid: "other" }))).body.reason).toBe(
      "Conflict",
    );
    expect((await object(`${DEPLOYMENTS}/web`)).spec.replicas).toBe(4);
  });

  test("rejects an invalid Scale", async () => {
    const negative = await server.put(`${DEPLOYMENTS}/web/scale`, scale("web", -1));
    expect([negative.status, negative.body.message]).toEqual([
      422,
      'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ]);
    expect(negative.body.details.group).toBe("autoscaling");
    expect((await server.put(`${DEPLOYMENTS}/web/scale`, scale("other", 1))).status).toBe(400);
    expect((await server.put(`${DEPLOYMENTS}/web/scale`, deployment("web"))).status).toBe(400);
    expect(
      (await server.put(`${DEPLOYMENTS}/web/scale`, { ...scale("web", 1), spec: { replicas: "many" } })).status,
    ).toBe(400);
    const absent = await server.put(`${DEPLOYMENTS}/absent/scale`, scale("absent", 1));
    expect([absent.status, absent.body.message]).toEqual([404, 'deployments.apps "absent" not found']);
    expect((await server.get(`${DEPLOYMENTS}/absent/scale`)).status).toBe(404);
    expect((await server.delete(`${DEPLOYMENTS}/web/scale`)).status).toBe(405);
    expect((await object(`${DEPLOYMENTS}/web`)).spec.replicas).toBe(3);
  });

  test("warns about unknown fields, or rejects them with Strict", async () => {
    const odd = { ...scale("web", 4), spec: { replicas: 4, colour: "red" } };
    const warned = await server.put(`${DEPLOYMENTS}/web/scale`, odd);
    expect([warned.status, warned.headers["warning"]]).toEqual([200, ['299 - "unknown field \\"spec.colour\\""']]);
    expect((await server.put(`${DEPLOYMENTS}/web/scale?fieldValidation=Strict`, odd)).status).toBe(400);
  });

  test("in a dry run stores nothing", async () => {
    const dry = await server.put(`${DEPLOYMENTS}/web/scale?dryRun=All`, scale("web", 9));
    expect([dry.status, dry.body.spec.replicas]).toEqual([200, 9]);
    expect((await object(`${DEPLOYMENTS}/web`)).spec.replicas).toBe(3);
  });

  test("applies every one of several concurrent patches", async () => {
    const writers = ["a", "b", "c", "d"].map((manager) =>
      server.begin(
        "PATCH",
        `${DEPLOYMENTS}/web/scale?fieldManager=${manager}`,
        JSON.stringify({ spec: { replicas: manager.charCodeAt(0) } }),
        {
          headers: { "content-type": "application/merge-patch+json" },
        },
      ),
    );
    const responses = await server.world.run(Promise.all(writers));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { metadata } = await object(`${DEPLOYMENTS}/web`);
    expect(metadata.generation).toBe(5);
    expect(metadata.managedFields.filter((entry: Json) => entry.subresource === "scale")).toHaveLength(1);
  });

  test("can be requested as YAML and as a Table", async () => {
    const yaml = await server.get(`${DEPLOYMENTS}/web/scale`, { accept: "application/yaml" });
    expect(yaml.text).toContain("kind: Scale\n");
    const table = await server.get(`${DEPLOYMENTS}/web/scale`, {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
    });
    expect(table.body.columnDefinitions.map(({ name }: Json) => name)).toEqual(["Name", "Desired", "Available", "Age"]);
    expect(table.body.rows[0].cells.slice(0, 3)).toEqual(["web", 3, 0]);
  });
});

describe("the binding subresource", () => {
  beforeEach(() => created(server.create(PODS, pod("a"))));

  test("assigns the pod to the node and sets a condition", async () => {
    const before = await object(`${PODS}/a`);
    const bound = await server.create(
      `${PODS}/a/binding`,
      binding("a", "n1", { annotations: { by: "scheduler" }, labels: { zone: "z1" } }),
    );
    expect([bound.status, bound.body]).toEqual([201, SUCCESS]);
    const after = await object(`${PODS}/a`);
    expect(after.spec.nodeName).toBe("n1");
    expect(after.metadata.annotations).toEqual({ by: "scheduler" });
    expect(after.metadata.labels).toEqual({ zone: "z1" });
    expect(after.metadata.generation).toBe(before.metadata.generation);
    expect(after.status.conditions).toEqual([
      expect.objectContaining({ type: "PodScheduled", status: "True", lastProbeTime: null }),
    ]);
    expect(names(await server.get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"))).toEqual(["a"]);
  });

  test("has an older path, for which the body contains the pod's name", async () => {
    const bound = await server.create("/api/v1/namespaces/default/bindings", binding("a", "n2"));
    expect([bound.status, bound.body]).toEqual([201, SUCCESS]);
    expect((await object(`${PODS}/a`)).spec.nodeName).toBe("n2");
  });

  test("binds a pod only once, even with concurrent requests", async () => {
    const [first, second] = await server.world.run(
      Promise.all(["n1", "n2"].map((node) => server.begin("POST", `${PODS}/a/binding`, binding("a", node)))),
    );
    expect([first!.status, second!.status]).toEqual([201, 409]);
    expect(second!.body).toMatchObject({
      message: 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
      reason: "Conflict",
      details: { name: "a", kind: "pods/binding" },
    });
  });

  test("rejects the binding of a pod that is being deleted or has scheduling gates", async () => {
    await created(
      server.create(PODS, { ...pod("held"), metadata: { name: "held", finalizers: ["example.com/hold"] } }),
    );
    await server.delete(`${PODS}/held`);
    expect((await bind("held")).body.message).toBe(
      'Operation cannot be fulfilled on pods/binding "held": pod held is being deleted, cannot be assigned to a host',
    );
    await created(server.create(PODS, pod("gated", { schedulingGates: [{ name: "example.com/wait" }] })));
    expect((await bind("gated")).body.message).toContain("pod gated has non-empty .spec.schedulingGates");
    const absent = await bind("absent");
    expect([absent.status, absent.body.message]).toEqual([404, 'pods "absent" not found']);
  });

  test("treats a uid and a resourceVersion as preconditions", async () => {
    const other = await server.create(`${PODS}/a/binding`, binding("a", "n1", { uid: "other" }));
    expect([other.status, other.body.message]).toEqual([
      409,
      expect.stringContaining("Precondition failed: UID in precondition: other"),
    ]);
    const outdated = await server.create(`${PODS}/a/binding`, binding("a", "n1", { resourceVersion: "1" }));
    expect([outdated.status, outdated.body.message]).toEqual([
      409,
      expect.stringContaining("Precondition failed: ResourceVersion in precondition: 1"),
    ]);
    const { uid, resourceVersion } = (await object(`${PODS}/a`)).metadata;
    expect((await server.create(`${PODS}/a/binding`, binding("a", "n1", { uid, resourceVersion }))).status).toBe(201);
  });

  test("rejects an invalid binding", async () => {
    expect((await server.create(`${PODS}/a/binding`, binding("b", "n1"))).body.message).toBe(
      "name in URL does not match name in Binding object",
    );
    const empty = await server.create(`${PODS}/a/binding`, { ...binding("a", ""), target: { kind: "Rack" } });
    expect([empty.status, empty.body.message]).toEqual([
      500,
      '[target.kind: Unsupported value: "Rack": supported values: "Node", "<empty>", target.name: Required value]',
    ]);
    expect((await server.create("/api/v1/namespaces/absent/pods/a/binding", binding("a", "n1"))).status).toBe(404);
  });

  test("in a dry run binds nothing", async () => {
    expect((await server.create(`${PODS}/a/binding?dryRun=All`, binding("a", "n1"))).status).toBe(201);
    expect((await object(`${PODS}/a`)).spec.nodeName).toBeUndefined();
  });
});

describe("the eviction subresource", () => {
  test("deletes a pod without a disruption budget gracefully, and sets a condition with the reason", async () => {
    await runningPod("a");
    const evicted = await server.create(`${PODS}/a/eviction`, eviction("a", { gracePeriodSeconds: 5 }));
    expect([evicted.status, evicted.body]).toEqual([201, SUCCESS]);
    const { metadata, status } = await object(`${PODS}/a`);
    expect(metadata.deletionGracePeriodSeconds).toBe(5);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: "DisruptionTarget",
        status: "True",
        reason: "EvictionByEvictionAPI",
        message: "Eviction API: evicting",
      }),
    );
  });

  test("removes a pod without a node immediately, even if its budget allows no disruption", async () => {
    await budget("none", { disruptionsAllowed: 0 });
    await created(server.create(PODS, { ...pod("a"), metadata: { name: "a", labels: { app: "web" } } }));
    await created(server.create(`${PODS}/a/eviction`, eviction("a")));
    expect((await server.get(`${PODS}/a`)).status).toBe(404);
  });

  test("returns 429 if the budget allows no disruption", async () => {
    await runningPod("a");
    await budget("web", { disruptionsAllowed: 0 });
    const rejected = await server.create(`${PODS}/a/eviction`, eviction("a"));
    expect([rejected.status, rejected.body.message]).toEqual([
      429,
      "Cannot evict pod as it would violate the pod's disruption budget.",
    ]);
    expect(rejected.body.details).toEqual({
      causes: [
        { reason: "DisruptionBudget", message: "The disruption budget web needs 1 healthy pods and has 1 currently" },
      ],
    });
    expect(header(rejected, "retry-after")).toBeUndefined();
    expect((await object(`${PODS}/a`)).metadata.deletionTimestamp).toBeUndefined();
  });

  test("decrements the allowed disruptions of the budget and records the pod in its status for the disruption controller", async () => {
    await runningPod("a");
    await budget("web", { disruptionsAllowed: 1, currentHealthy: 2 });
    await created(server.create(`${PODS}/a/eviction`, eviction("a")));
    const { status, metadata } = await object(`${BUDGETS}/web`);
    expect(status).toMatchObject({ disruptionsAllowed: 0, disruptedPods: { a: expect.stringMatching(/Z$/) } });
    expect(status.conditions).toEqual([
      expect.objectContaining({
        type: "DisruptionAllowed",
        status: "False",
        reason: "InsufficientPods",
        observedGeneration: 1,
      }),
    ]);
    expect(metadata.managedFields.map(({ manager, subresource }: Json) => [manager, subresource])).toContainEqual([
      "kube-apiserver",
      "status",
    ]);
  });

  test("does not admit two concurrent evictions if the budget allows one disruption", async () => {
    await runningPod("a");
    await runningPod("b");
    await budget("web", { disruptionsAllowed: 1, currentHealthy: 2 });
    const responses = await server.world.run(
      Promise.all(["a", "b"].map((name) => server.begin("POST", `${PODS}/${name}/eviction`, eviction(name)))),
    );
    expect(responses.map(({ status }) => status)).toEqual([201, 429]);
    expect((await object(`${BUDGETS}/web`)).status.disruptionsAllowed).toBe(0);
  });

  test("returns 429 with Retry-After if the disruption controller has not processed the budget yet", async () => {
    await runningPod("a");
    await budget("web", { disruptionsAllowed: 1, observedGeneration: 0 });
    const rejected = await server.create(`${PODS}/a/eviction`, eviction("a"));
    expect([rejected.status, header(rejected, "retry-after")]).toEqual([429, "10"]);
    expect(rejected.body.details.causes[0].message).toBe(
      "The disruption budget web is still being processed by the server.",
    );
  });

  test("rejects evictions if the budget has a negative number of allowed disruptions, or if several budgets select the pod", async () => {
    await runningPod("a");
    await budget("web", { disruptionsAllowed: 0 });
    await overwrite("/registry/poddisruptionbudgets/default/web", '"disruptionsAllowed":0', '"disruptionsAllowed":-1');
    const forbidden = await server.create(`${PODS}/a/eviction`, eviction("a"));
    expect([forbidden.status, forbidden.body.message]).toEqual([
      403,
      'poddisruptionbudget.policy "web" is forbidden: pdb disruptions allowed is negative',
    ]);
    await budget("all", { disruptionsAllowed: 1 }, { selector: {} });
    const confused = await server.create(`${PODS}/a/eviction`, eviction("a"));
    expect([confused.status, confused.body.message]).toEqual([
      500,
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    ]);
  });

  test("evicts an unready pod if enough other pods are healthy, or if the budget always allows it", async () => {
    await runningPod("a");
    await server.mergePatch(`${PODS}/a/status`, { status: { conditions: [{ type: "Ready", status: "False" }] } });
    await budget("web", { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1 });
    expect((await server.create(`${PODS}/a/eviction`, eviction("a"))).status).toBe(429);
    await server.mergePatch(`${BUDGETS}/web/status`, { status: { currentHealthy: 1 } });
    expect((await server.create(`${PODS}/a/eviction?dryRun=All`, eviction("a"))).status).toBe(201);
    await server.mergePatch(`${BUDGETS}/web/status`, { status: { currentHealthy: 0 } });
    await server.mergePatch(`${BUDGETS}/web`, { spec: { unhealthyPodEvictionPolicy: "AlwaysAllow" } });
    await created(server.create(`${PODS}/a/eviction`, eviction("a")));
    expect((await object(`${BUDGETS}/web`)).status.disruptedPods).toBeUndefined();
  });

  test("checks preconditions, and accepts policy/v1beta1 evictions", async () => {
    const { metadata } = await runningPod("a");
    expect((await server.create(`${PODS}/a/eviction`, eviction("a", { preconditions: { uid: "other" } }))).status).toBe(
      409,
    );
    expect(
      (await server.create(`${PODS}/a/eviction`, eviction("a", { preconditions: { resourceVersion: "1" } }))).status,
    ).toBe(409);
    const { resourceVersion } = metadata;
    const old = {
      ...eviction("a", { kind: "DeleteOptions", apiVersion: "policy/v1beta1", preconditions: { resourceVersion } }),
      apiVersion: "policy/v1beta1",
    };
    expect((await server.create(`${PODS}/a/eviction`, old)).status).toBe(201);
  });

  test("in a dry run deletes no pod and does not change the budget", async () => {
    await runningPod("a");
    await budget("web", { disruptionsAllowed: 1 });
    await created(server.create(`${PODS}/a/eviction?dryRun=All`, eviction("a")));
    await created(server.create(`${PODS}/a/eviction`, eviction("a", { dryRun: ["All"] })));
    expect((await object(`${PODS}/a`)).metadata.deletionTimestamp).toBeUndefined();
    expect((await object(`${BUDGETS}/web`)).status.disruptionsAllowed).toBe(1);
  });

  test("with invalid delete options rejects the eviction of an existing pod, and returns 404 for a missing pod", async () => {
    await runningPod("a");
    const odd = (name: string): Json => eviction(name, { propagationPolicy: "Later" });
    const rejected = await server.create(`${PODS}/a/eviction`, odd("a"));
    expect([rejected.status, rejected.body.details.kind]).toEqual([422, "DeleteOptions"]);
    expect(rejected.body.message).toContain('propagationPolicy: Unsupported value: "Later"');
    expect((await server.create(`${PODS}/absent/eviction`, odd("absent"))).status).toBe(404);
    expect((await server.get(`${PODS}/a`)).status).toBe(200);
  });

  test("evicts a pending pod even if it changes concurrently", async () => {
    let whenDeleted: (() => Promise<unknown>) | undefined;
    const wrapKv = (kv: Kv): Kv =>
      overlaidKv(kv, {
        async commit(change) {
          const first = change.kind === "delete" ? whenDeleted : undefined;
          whenDeleted = first === undefined ? whenDeleted : undefined;
          await first?.();
          return kv.commit(change);
        },
      });
    await using api = await startServer({ wrapKv });
    await created(api.create(PODS, pod("a")));
    const changed: number[] = [];
    whenDeleted = async () => {
      const headers = { "content-type": "application/merge-patch+json" };
      const change = JSON.stringify({ metadata: { labels: { x: "y" } } });
      changed.push((await api.begin("PATCH", `${PODS}/a`, change, { headers })).status);
    };
    expect((await api.create(`${PODS}/a/eviction`, eviction("a"))).status).toBe(201);
    expect(changed).toEqual([200]);
    expect((await api.get(`${PODS}/a`)).status).toBe(404);
  });

  test("in a terminating namespace returns the error that kubectl drain expects", async () => {
    await created(
      server.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "going" } }),
    );
    const pods = "/api/v1/namespaces/going/pods";
    await created(server.create(pods, pod("a")));
    await server.delete("/api/v1/namespaces/going");
    const rejected = await server.create(`${pods}/a/eviction`, {
      ...eviction("a"),
      metadata: { name: "a", namespace: "going" },
    });
    expect([rejected.status, rejected.body.details.causes[0].reason]).toEqual([403, "NamespaceTerminating"]);
  });

  test("rejects a body that names another pod than the path", async () => {
    expect((await server.create(`${PODS}/absent/eviction`, eviction("absent"))).status).toBe(404);
    await runningPod("a");
    expect((await server.create(`${PODS}/a/eviction`, eviction("b"))).body.message).toBe(
      "name in URL does not match name in Eviction object",
    );
    expect((await server.create(`${PODS}/a/eviction`, binding("a", "n1"))).status).toBe(400);
  });
});

describe("the ephemeralcontainers subresource", () => {
  const debug = { name: "debug", image: "busybox", targetContainerName: "main" };
  const completed = {
    ...debug,
    imagePullPolicy: "Always",
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
  };

  beforeEach(() => runningPod("a"));

  test("adds containers and changes nothing else", async () => {
    const before = await object(`${PODS}/a`);
    const changed = {
      ...before,
      metadata: { ...before.metadata, labels: { app: "other" } },
      spec: { ...before.spec, nodeName: "n9", ephemeralContainers: [debug] },
    };
    const put = await server.put(`${PODS}/a/ephemeralcontainers`, changed);
    expect(put.status).toBe(200);
    expect(put.body.kind).toBe("Pod");
    const after = await object(`${PODS}/a`);
    expect(after.spec).toEqual({ ...before.spec, ephemeralContainers: [completed] });
    expect(after.metadata.labels).toEqual({ app: "web" });
    expect(after.metadata.generation).toBe(before.metadata.generation + 1);
    const entry = after.metadata.managedFields.find(({ subresource }: Json) => subresource === "ephemeralcontainers");
    expect(Object.keys(entry.fieldsV1)).toEqual(["f:spec"]);
    expect((await server.get(`${PODS}/a/ephemeralcontainers`)).body).toEqual(after);
  });

  test("rejects changes of existing ephemeral containers", async () => {
    await server.mergePatch(`${PODS}/a/ephemeralcontainers`, { spec: { ephemeralContainers: [debug] } });
    const changed = await server.mergePatch(`${PODS}/a/ephemeralcontainers`, {
      spec: { ephemeralContainers: [{ ...debug, image: "alpine" }] },
    });
    expect([changed.status, changed.body.message]).toEqual([
      422,
      expect.stringContaining(
        'Forbidden: existing ephemeral containers "debug" may not be changed\n@@ -1,6 +1,6 @@\n {\n',
      ),
    ]);
    const removed = await server.mergePatch(`${PODS}/a/ephemeralcontainers`, { spec: { ephemeralContainers: null } });
    expect([removed.status, removed.body.message]).toEqual([
      422,
      'Pod "a" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed\n',
    ]);
  });

  test("reports every invalid field", async () => {
    const odd = [
      { name: "main", image: "x", targetContainerName: "nobody", ports: [{ containerPort: 80 }] },
      { name: "second" },
    ];
    const rejected = await server.mergePatch(`${PODS}/a/ephemeralcontainers`, { spec: { ephemeralContainers: odd } });
    expect(rejected.body.details.causes.map(({ field, reason }: Json) => `${field} ${reason}`)).toEqual([
      "spec.ephemeralContainers[0].name FieldValueDuplicate",
      "spec.ephemeralContainers[0].targetContainerName FieldValueNotFound",
      "spec.ephemeralContainers[0].ports FieldValueForbidden",
      "spec.ephemeralContainers[1].image FieldValueRequired",
    ]);
  });

  test("changes nothing in a dry run or with an outdated resourceVersion", async () => {
    const before = await object(`${PODS}/a`);
    const changed = { ...before, spec: { ...before.spec, ephemeralContainers: [debug] } };
    const dry = await server.put(`${PODS}/a/ephemeralcontainers?dryRun=All`, changed);
    expect(dry.body.spec.ephemeralContainers).toEqual([completed]);
    expect((await object(`${PODS}/a`)).spec.ephemeralContainers).toBeUndefined();
    await server.mergePatch(`${PODS}/a`, { metadata: { labels: { x: "y" } } });
    expect((await server.put(`${PODS}/a/ephemeralcontainers`, changed)).status).toBe(409);
  });
});

describe("the resize subresource", () => {
  const amounts = (cpu: string, memory: string): Json => ({ requests: { cpu, memory }, limits: { cpu, memory } });
  const container = (resources: Json, more: Json = {}): Json => ({ name: "main", image: "main", resources, ...more });

  beforeEach(() => runningPod("a", { spec: { containers: [container(amounts("1", "1Gi"))] } }));

  function resize(...containers: Json[]): Promise<ApiTestResponse> {
    return server.mergePatch(`${PODS}/a/resize`, { spec: { containers } });
  }

  test("changes cpu and memory of a container and no other field", async () => {
    const before = await object(`${PODS}/a`);
    const resized = await resize(container(amounts("2000m", "2048Mi"), { image: "other" }));
    expect(resized.status).toBe(200);
    const after = await object(`${PODS}/a`);
    expect(after.spec.containers).toEqual([{ ...before.spec.containers[0], resources: amounts("2", "2Gi") }]);
    expect(after.metadata.generation).toBe(before.metadata.generation + 1);
    expect(after.metadata.managedFields.some(({ subresource }: Json) => subresource === "resize")).toBe(true);
  });

  test("cannot change the QoS class", async () => {
    const burstable = await resize(
      container({ requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } }),
    );
    expect([burstable.status, burstable.body.message]).toEqual([
      422,
      expect.stringContaining("Pod QOS Class may not change as a result of resizing"),
    ]);
  });

  test("can neither remove resources nor change resources other than cpu and memory", async () => {
    const removed = await server.jsonPatch(`${PODS}/a/resize`, [
      { op: "remove", path: "/spec/containers/0/resources/limits/cpu" },
    ]);
    expect(removed.body.details.causes.map(({ field }: Json) => field)).toContain(
      "spec.containers[0].resources.limits",
    );
    const other = amounts("1", "1Gi");
    const huge = await resize(container({ ...other, limits: { ...other.limits, "example.com/gpu": "1" } }));
    expect(huge.body.message).toBe('Pod "a" is invalid: spec: Forbidden: only cpu and memory resources are mutable');
    const policy = await resize(
      container(amounts("1", "1Gi"), { resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }] }),
    );
    expect(policy.status).toBe(422);
  });

  test("can neither add nor rename containers", async () => {
    const added = await resize(container(amounts("1", "1Gi")), { name: "more", image: "more" });
    expect(added.body.message).toContain(
      "spec.containers: Forbidden: containers may not be added or removed on resize",
    );
    const renamed = await resize({ ...container(amounts("1", "1Gi")), name: "other" });
    expect(renamed.body.message).toContain(
      "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
    );
  });

  test("rejects pods whose node reports no resources", async () => {
    await server.mergePatch(`${PODS}/a/status`, {
      status: {
        containerStatuses: [
          { name: "main", ready: true, restartCount: 0, image: "main", imageID: "", state: { running: {} } },
        ],
      },
    });
    expect((await resize(container(amounts("2", "2Gi")))).body.message).toContain(
      "spec: Forbidden: Pod running on node without support for resize",
    );
  });

  test("in a dry run changes nothing", async () => {
    const dry = await server.call(
      "PATCH",
      `${PODS}/a/resize?dryRun=All`,
      JSON.stringify({ spec: { containers: [container(amounts("2", "2Gi"))] } }),
      {
        headers: { "content-type": "application/merge-patch+json" },
      },
    );
    expect(dry.body.spec.containers[0].resources.limits.cpu).toBe("2");
    expect((await object(`${PODS}/a`)).spec.containers[0].resources.limits.cpu).toBe("1");
  });
});

test("bindings and evictions are accepted in protobuf, where delete options have no kind", async () => {
  const send = (target: string, body: Json): Promise<ApiTestResponse> =>
    server.call("POST", target, encodeProtobufObject(body, protobufTables()), {
      headers: { "content-type": "application/vnd.kubernetes.protobuf" },
    });
  await created(server.create(PODS, pod("a")));
  expect((await send(`${PODS}/a/binding`, binding("a", "n1"))).body).toEqual(SUCCESS);
  await server.mergePatch(`${PODS}/a/status`, { status: { phase: "Running" } });
  expect((await send(`${PODS}/a/eviction`, eviction("a", { gracePeriodSeconds: 7 }))).body).toEqual(SUCCESS);
  expect((await object(`${PODS}/a`)).metadata.deletionGracePeriodSeconds).toBe(7);
});

test.each([
  ["1.28", 404],
  ["1.32", 404],
  ["1.33", 200],
  ["1.36", 200],
] as const)("in release %s, pods/resize returns %i", async (release, status) => {
  await using old = await startServer({ release });
  await old.create(PODS, pod("a"));
  expect((await old.get(`${PODS}/a/resize`)).status).toBe(status);
  expect((await old.get(`${PODS}/a/ephemeralcontainers`)).status).toBe(200);
});

test.each(["1.28", "1.31", "1.34", "1.37"] as const)(
  "in release %s, scales, bindings and evictions succeed",
  async (release) => {
    await using other = await startServer({ release });
    await other.create(DEPLOYMENTS, deployment("web"));
    expect((await other.mergePatch(`${DEPLOYMENTS}/web/scale`, { spec: { replicas: 2 } })).body.spec).toEqual({
      replicas: 2,
    });
    await other.create(PODS, pod("a"));
    expect((await other.create(`${PODS}/a/binding`, binding("a", "n1"))).body).toEqual(SUCCESS);
    expect((await other.create(`${PODS}/a/eviction`, eviction("a"))).body).toEqual(SUCCESS);
  },
);

describe("the approval subresource of a certificate signing request", () => {
  const REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const approved = { type: "Approved", status: "True", reason: "ByHand", message: "fine" };

  beforeEach(() =>
    created(
      server.create(REQUESTS, {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name: "me", labels: { of: "me" } },
        spec: { request: SIGNING_REQUEST, signerName: "example.com/signer", usages: ["client auth"] },
      }),
    ),
  );

  test("writes the conditions and their times, and neither the spec nor the certificate", async () => {
    const before = await object(`${REQUESTS}/me`);
    const changed = {
      ...before,
      spec: { ...before.spec, signerName: "example.com/other" },
      status: { conditions: [approved], certificate: "Zm9v" },
    };
    const put = await server.put(`${REQUESTS}/me/approval`, changed);
    expect(put.status).toBe(200);
    const after = await object(`${REQUESTS}/me`);
    expect(after.spec).toEqual(before.spec);
    expect(after.status).toEqual({
      conditions: [
        { ...approved, lastUpdateTime: expect.stringMatching(/Z$/), lastTransitionTime: expect.stringMatching(/Z$/) },
      ],
    });
    expect(after.metadata.managedFields.at(-1)).toMatchObject({ subresource: "approval" });
    expect((await server.get(`${REQUESTS}/me/approval`)).body).toEqual(after);
  });

  test("accepts exactly one condition that is True, Approved or Denied, which is immutable afterwards", async () => {
    const both = await server.mergePatch(`${REQUESTS}/me/approval`, {
      status: { conditions: [approved, { ...approved, type: "Denied" }] },
    });
    expect(both.body.message).toContain("Approved and Denied conditions are mutually exclusive");
    const untrue = await server.mergePatch(`${REQUESTS}/me/approval`, {
      status: { conditions: [{ ...approved, status: "False" }] },
    });
    expect(untrue.body.message).toContain(
      'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
    );
    await server.mergePatch(`${REQUESTS}/me/approval`, { status: { conditions: [approved] } });
    const removed = await server.mergePatch(`${REQUESTS}/me/approval`, { status: { conditions: [] } });
    expect([removed.status, removed.body.message]).toEqual([
      422,
      expect.stringContaining('updates may not remove a condition of type "Approved"'),
    ]);
  });
});

describe("a connection through the server to a node (log, exec, attach, portforward, proxy)", () => {
  test("for a missing pod returns 404", async () => {
    for (const subresource of ["log", "exec", "attach", "portforward", "proxy"]) {
      const absent = await server.get(`${PODS}/absent/${subresource}`);
      expect([absent.status, absent.body.message]).toEqual([404, 'pods "absent" not found']);
    }
    expect((await server.get("/api/v1/nodes/absent/proxy/metrics")).status).toBe(404);
    expect((await server.get("/api/v1/namespaces/default/services/https:absent:443/proxy/")).body.message).toBe(
      'services "absent" not found',
    );
  });

  test("for a pod without a node returns an empty log and rejects other connections", async () => {
    await server.create(PODS, pod("a"));
    const log = await server.get(`${PODS}/a/log`, { accept: "application/yaml" });
    expect([log.status, log.text]).toEqual([204, ""]);
    for (const subresource of ["exec", "attach", "portforward"]) {
      const rejected = await server.create(`${PODS}/a/${subresource}`, undefined);
      expect([rejected.status, rejected.body.message]).toEqual([400, "pod a does not have a host assigned"]);
    }
    expect((await server.get(`${PODS}/a:8080/proxy/`)).body.message).toBe("address not allowed");
    expect((await server.get(`${PODS}/ftp:a:21/proxy/`)).body.message).toBe('invalid pod request "ftp:a:21"');
  });

  test("for a pod with several containers needs the name of one of them", async () => {
    await server.create(
      PODS,
      pod("two", {
        containers: [
          { name: "x", image: "x" },
          { name: "y", image: "y" },
        ],
      }),
    );
    expect((await server.get(`${PODS}/two/log`)).body.message).toBe(
      "a container name must be specified for pod two, choose one of: [x y]",
    );
    expect((await server.get(`${PODS}/two/log?container=z`)).body.message).toBe("container z is not valid for pod two");
    expect((await server.get(`${PODS}/two/log?container=y`)).status).toBe(204);
  });

  test("for a running pod whose node cannot be reached returns 503 without Retry-After, not 404", async () => {
    await runningPod("a");
    for (const subresource of ["log", "exec", "attach", "portforward"]) {
      const rejected = await server.get(`${PODS}/a/${subresource}`, { accept: "text/html" });
      expect([rejected.status, rejected.body.reason, header(rejected, "retry-after")]).toEqual([
        503,
        "ServiceUnavailable",
        undefined,
      ]);
      expect(rejected.body.message).toContain('node "n1" cannot be reached');
    }
    await server.create("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
    expect((await server.get("/api/v1/nodes/n1/proxy/stats/summary")).status).toBe(503);
  });
});

test("a token request to a server that issues no tokens returns 405", async () => {
  await server.create("/api/v1/namespaces/default/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "sa" },
  });
  expect((await server.create("/api/v1/namespaces/default/serviceaccounts/sa/token", {})).status).toBe(405);
});
