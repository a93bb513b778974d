/**
 * Tests of the rules of workloads (Deployments, Jobs, autoscalers …) through the whole server: defaults, fields that
 * the server sets, and validation.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { header, startServer, type Json, type TestServer } from "./start.ts";

const APPS = "/apis/apps/v1/namespaces/default";
const BATCH = "/apis/batch/v1/namespaces/default";
const AUTOSCALERS = (version: string): string =>
  `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;

let server: TestServer;

beforeEach(async () => {
  server = await startServer();
});

afterEach(() => server[Symbol.asyncDispose]());

function template(labels: Json = { app: "web" }, spec: Json = {}): Json {
  return { metadata: { labels }, spec: { containers: [{ name: "c", image: "example/app:1" }], ...spec } };
}

function workload(kind: string, spec: Json = {}): Json {
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: "web" },
    spec: { selector: { matchLabels: { app: "web" } }, template: template(), ...spec },
  };
}

function job(spec: Json = {}): Json {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j" },
    spec: { template: { spec: template({}, { restartPolicy: "Never" }).spec }, ...spec },
  };
}

describe("a Deployment", () => {
  test("gets its defaults, and its creator owns the sent and the defaulted fields", async () => {
    const { status, body } = await server.create(`${APPS}/deployments`, workload("Deployment"));
    expect(status).toBe(201);
    expect(body.spec).toMatchObject({
      replicas: 1,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
      template: { spec: { restartPolicy: "Always" } },
    });
    expect(body.status).toEqual({});
    expect(body.metadata.managedFields[0].fieldsV1["f:spec"]).toHaveProperty("f:progressDeadlineSeconds");
    expect(body.metadata.managedFields[0].fieldsV1).not.toHaveProperty("f:status");
  });

  test("has an immutable selector", async () => {
    await server.create(`${APPS}/deployments`, workload("Deployment"));
    const other = { selector: { matchLabels: { app: "x" } }, template: template({ app: "x" }) };
    const { status, body } = await server.put(`${APPS}/deployments/web`, workload("Deployment", other));
    expect(status).toBe(422);
    expect(body.message).toBe(
      'Deployment.apps "web" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"x"}}: field is immutable',
    );
  });

  test("gets a new generation when its annotations change", async () => {
    await server.create(`${APPS}/deployments`, workload("Deployment"));
    const annotated = await server.mergePatch(`${APPS}/deployments/web`, { metadata: { annotations: { a: "b" } } });
    expect(annotated.body.metadata.generation).toBe(2);
    const labelled = await server.mergePatch(`${APPS}/deployments/web`, { metadata: { labels: { a: "b" } } });
    expect(labelled.body.metadata.generation).toBe(2);
  });

  test("with a dotted name causes a warning", async () => {
    const dotted = { ...workload("Deployment"), metadata: { name: "a.b" } };
    const response = await server.create(`${APPS}/deployments`, dotted);
    expect(response.status).toBe(201);
    expect(header(response, "warning")).toContain("a DNS label is recommended: [must not contain dots]");
  });
});

test("a DaemonSet has an annotation that counts the changes of its template", async () => {
  const annotation = "deprecated.daemonset.template.generation";
  const { body } = await server.create(`${APPS}/daemonsets`, workload("DaemonSet"));
  expect(body.metadata.annotations).toEqual({ [annotation]: "1" });
  const changed = workload("DaemonSet", { template: template({ app: "web", v: "2" }) });
  const after = await server.put(`${APPS}/daemonsets/web`, changed);
  expect(after.body.metadata).toMatchObject({ annotations: { [annotation]: "2" }, generation: 2 });
});

test("a StatefulSet cannot change its volume claim templates", async () => {
  const claim = {
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  const created = await server.create(
    `${APPS}/statefulsets`,
    workload("StatefulSet", { volumeClaimTemplates: [claim] }),
  );
  expect(created.body.spec.volumeClaimTemplates[0]).toMatchObject({
    kind: "PersistentVolumeClaim",
    spec: { volumeMode: "Filesystem" },
    status: { phase: "Pending" },
  });
  const { status, body } = await server.mergePatch(`${APPS}/statefulsets/web`, { spec: { volumeClaimTemplates: [] } });
  expect(status).toBe(422);
  expect(body.details.causes).toEqual([expect.objectContaining({ field: "spec", reason: "FieldValueForbidden" })]);
});

describe("a Job", () => {
  test("labels its pods with its uid", async () => {
    const { body } = await server.create(`${BATCH}/jobs`, job());
    const { uid } = body.metadata;
    const labels = {
      "controller-uid": uid,
      "batch.kubernetes.io/controller-uid": uid,
      "job-name": "j",
      "batch.kubernetes.io/job-name": "j",
    };
    expect(body.metadata.labels).toEqual(labels);
    expect(body.spec.template.metadata.labels).toEqual(labels);
    expect(body.spec.selector).toEqual({ matchLabels: { "batch.kubernetes.io/controller-uid": uid } });
  });

  test("can be updated with the object that a GET returned", async () => {
    const { body } = await server.create(`${BATCH}/jobs`, job());
    const again = await server.put(`${BATCH}/jobs/j`, body);
    expect(again.status).toBe(200);
    expect(again.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  });

  test("cannot be both complete and failed", async () => {
    await server.create(`${BATCH}/jobs`, job());
    const conditions = ["Complete", "Failed"].map((type) => ({ type, status: "True" }));
    const { status, body } = await server.mergePatch(`${BATCH}/jobs/j/status`, { status: { conditions } });
    expect(status).toBe(422);
    expect(body.message).toContain(
      "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
    );
  });
});

test("a CronJob with a malformed schedule is rejected", async () => {
  const cronJob = {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "c" },
    spec: { schedule: "* * *", jobTemplate: { spec: job().spec } },
  };
  const { status, body } = await server.create(`${BATCH}/cronjobs`, cronJob);
  expect(status).toBe(422);
  expect(body.message).toBe(
    'CronJob.batch "c" is invalid: spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]',
  );
});

test("a HorizontalPodAutoscaler has the same defaults in both API versions", async () => {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  const autoscaler = {
    apiVersion: "autoscaling/v1",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "h" },
    spec: { maxReplicas: 3, scaleTargetRef },
  };
  const { body } = await server.create(AUTOSCALERS("v1"), autoscaler);
  expect(body.spec).toMatchObject({ minReplicas: 1, targetCPUUtilizationPercentage: 80 });
  const second = await server.get(`${AUTOSCALERS("v2")}/h`);
  expect(second.body.spec.metrics).toEqual([
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
  ]);
  const patched = await server.mergePatch(`${AUTOSCALERS("v2")}/h`, { spec: { maxReplicas: 0 } });
  expect(patched.status).toBe(422);
});

test("release 1.34 rejects a HorizontalPodAutoscaler with maxReplicas 0 with the message of that release", async () => {
  await using old = await startServer({ release: "1.34" });
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  const { body } = await old.create(AUTOSCALERS("v2"), {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "h" },
    spec: { maxReplicas: 0, scaleTargetRef },
  });
  expect(body.message).toContain("spec.maxReplicas: Invalid value: 0: must be greater than 0");
});
