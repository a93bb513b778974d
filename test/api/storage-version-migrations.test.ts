import { describe, expect, test } from "vitest";
import { startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

const GROUP = "storagemigration.k8s.io";
const TIME = "2030-01-01T00:00:00Z";
const LABEL_1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const RUNNING = condition("Running");
const NOT_RUNNING = condition("Running", "False");
const SUCCEEDED = condition("Succeeded");
const FAILED = condition("Failed");

function start(release = "1.36", version = "v1beta1"): Promise<TestServer> {
  return startServer({
    release,
    runtimeConfig: [`${GROUP}/${version}=true`],
    featureGates: ["StorageVersionMigrator=true"],
    controllers: [],
  });
}

function path(version = "v1beta1"): string {
  return `/apis/${GROUP}/${version}/storageversionmigrations`;
}

function migration(resource: Json, more: Json = {}, version = "v1beta1"): Json {
  const { metadata, ...rest } = more;
  return {
    apiVersion: `${GROUP}/${version}`,
    kind: "StorageVersionMigration",
    metadata: { name: "m", ...metadata },
    spec: { resource },
    ...rest,
  };
}

function condition(type: string, status = "True"): Json {
  return { type, status, lastTransitionTime: TIME, reason: "Because", message: "" };
}

function shown(...conditions: Json[]): string {
  return JSON.stringify(conditions);
}

/** Creates a migration and writes two statuses through its status subresource, one after the other. */
async function statuses(api: TestServer, before: Json, after: Json): Promise<ApiTestResponse> {
  const { body } = await api.create(path(), migration({ resource: "secrets" }));
  const first = await api.put(`${path()}/m/status`, { ...body, status: before });
  expect(first.status).toBe(200);
  return api.put(`${path()}/m/status`, { ...first.body, status: after });
}

function sentences(response: ApiTestResponse): string[] {
  expect(response).toMatchObject({ status: 422, body: { reason: "Invalid" } });
  return response.body.details.causes.map((cause: Json) => `${cause.field}: ${cause.message}`);
}

describe("the API of StorageVersionMigrations", () => {
  test.each([
    ["1.34", "v1alpha1", ["v1alpha1"]],
    ["1.35", "v1beta1", ["v1beta1"]],
    ["1.36", "v1beta1", ["v1beta1"]],
    ["1.37", "v1beta1", ["v1", "v1beta1"]],
  ])("in release %s with %s enabled is served in the versions %j", async (release, version, versions) => {
    await using api = await start(release, version);
    const { body } = await api.get(`/apis/${GROUP}`);
    expect(body.versions.map((served: Json) => served.version)).toEqual(versions);
    expect((await api.get(path(version))).status).toBe(200);
  });

  test("is not served without its feature gate", async () => {
    await using api = await startServer({ release: "1.36", runtimeConfig: [`${GROUP}/v1beta1=true`] });
    expect((await api.get(path())).status).toBe(404);
  });
});

describe("a new migration", () => {
  test("is returned with its resource and an empty status", async () => {
    await using api = await start();
    const resource = { group: "apps", resource: "deployments" };
    const created = await api.create(path(), migration(resource, { status: { resourceVersion: "5" } }));
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ spec: { resource } });
    expect(created.body.status).toEqual({});
    expect(created.body.metadata).not.toHaveProperty("generation");
  });

  test.each([
    [{ group: "apps", resource: "" }, "spec.resource.resource: Required value: resource is required to be set"],
    [{ resource: "." }, `spec.resource.resource: Invalid value: ".": ${LABEL_1035}`],
    [{ resource: "pods", group: "-" }, `spec.resource.group: Invalid value: "-": ${SUBDOMAIN}`],
  ])("of %j is rejected", async (resource, sentence) => {
    await using api = await start();
    const response = await api.create(path(), migration(resource));
    expect(sentences(response)).toEqual([sentence]);
    expect(response.body.message).toBe(`StorageVersionMigration.storagemigration.k8s.io "m" is invalid: ${sentence}`);
  });

  test("must have a DNS subdomain as its name, and cannot be created by PUT", async () => {
    await using api = await start();
    const wrong = await api.create(path(), migration({ resource: "pods" }, { metadata: { name: "A" } }));
    expect(sentences(wrong)).toEqual([`metadata.name: Invalid value: "A": ${SUBDOMAIN}`]);
    expect((await api.put(`${path()}/m`, migration({ resource: "pods" }))).status).toBe(404);
  });
});

describe("an update", () => {
  test("without changes, or of the labels only, is accepted and keeps the status", async () => {
    await using api = await start();
    const { body } = await statuses(api, {}, { resourceVersion: "5" });
    const same = await api.put(`${path()}/m`, body);
    expect(same.status).toBe(200);
    expect(same.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
    const labelled = await api.put(`${path()}/m`, {
      ...body,
      metadata: { ...body.metadata, labels: { a: "b" } },
      status: { resourceVersion: "lost" },
    });
    expect(labelled.body).toMatchObject({ metadata: { labels: { a: "b" } }, status: { resourceVersion: "5" } });
  });

  test("of the spec, or without a resource version, is rejected", async () => {
    await using api = await start();
    const { body } = await api.create(path(), migration({ resource: "secrets" }));
    const changed = await api.put(`${path()}/m`, { ...body, spec: { resource: { resource: "pods" } } });
    expect(sentences(changed)).toEqual([
      'spec: Invalid value: {"Resource":{"group":"","resource":"pods"}}: field is immutable',
    ]);
    const invalid = await api.put(`${path()}/m`, { ...body, spec: {} });
    expect(sentences(invalid)).toEqual([
      "spec.resource.resource: Required value: resource is required to be set",
      'spec: Invalid value: {"Resource":{"group":"","resource":""}}: field is immutable',
    ]);
    for (const door of ["", "/status"]) {
      const blind = await api.put(`${path()}/m${door}`, migration({ resource: "secrets" }));
      expect(blind.body.message).toBe(
        'storageversionmigrations.storagemigration.k8s.io "m" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
      );
    }
  });

  test("of the status keeps spec and metadata", async () => {
    await using api = await start();
    const { body } = await api.create(path(), migration({ resource: "secrets" }, { metadata: { labels: { a: "b" } } }));
    const response = await api.put(`${path()}/m/status`, {
      ...body,
      metadata: { ...body.metadata, labels: { z: "1" }, annotations: { z: "1" } },
      spec: { resource: { resource: "pods" } },
      status: { resourceVersion: "5" },
    });
    expect(response.status).toBe(200);
    expect(response.body.metadata.labels).toEqual({ a: "b" });
    expect(response.body.metadata).not.toHaveProperty("annotations");
    expect(response.body).toMatchObject({
      spec: { resource: { resource: "secrets" } },
      status: { resourceVersion: "5" },
    });
  });
});

describe("a status", () => {
  test.each<[string, Json, Json]>([
    ["can set its resource version", {}, { resourceVersion: "123" }],
    ["can change from running to succeeded", { conditions: [RUNNING] }, { conditions: [NOT_RUNNING, SUCCEEDED] }],
    ["can change from running to failed", { conditions: [RUNNING] }, { conditions: [NOT_RUNNING, FAILED] }],
    ["can stay succeeded", { conditions: [SUCCEEDED] }, { conditions: [SUCCEEDED, NOT_RUNNING] }],
    ["can stay failed", { conditions: [FAILED] }, { conditions: [FAILED, NOT_RUNNING] }],
  ])("%s", async (_what, before, after) => {
    await using api = await start();
    expect((await statuses(api, before, after)).status).toBe(200);
  });

  test.each<[string, Json, Json, string]>([
    [
      "cannot change its resource version",
      { resourceVersion: "123" },
      { resourceVersion: "456" },
      'status.resourceVersion: Invalid value: "456": field is immutable',
    ],
    [
      "cannot have a malformed resource version",
      {},
      { resourceVersion: "abc" },
      'status.resourceVersion: Invalid value: "abc": resource version is not well formed: abc',
    ],
    [
      "cannot be both succeeded and failed",
      {},
      { conditions: [SUCCEEDED, FAILED] },
      `status.conditions: Invalid value: ${shown(SUCCEEDED, FAILED)}: Both success and failed conditions cannot be true at the same time`,
    ],
    [
      "cannot revoke its success",
      { conditions: [SUCCEEDED] },
      { conditions: [condition("Succeeded", "False")] },
      `status.conditions: Invalid value: ${shown(condition("Succeeded", "False"))}: Success condition cannot be set to false once it is true`,
    ],
    [
      "cannot revoke its failure",
      { conditions: [FAILED] },
      { conditions: [condition("Failed", "False")] },
      `status.conditions: Invalid value: ${shown(condition("Failed", "False"))}: Failed condition cannot be set to false once it is true`,
    ],
    [
      "must have a reason in each condition",
      {},
      { conditions: [{ ...RUNNING, reason: "" }] },
      "status.conditions[0].reason: Required value",
    ],
  ])("%s", async (_what, before, after, sentence) => {
    await using api = await start();
    expect(sentences(await statuses(api, before, after))).toEqual([sentence]);
  });
});

describe("a migration", () => {
  test("has the same fields in v1beta1 and v1", async () => {
    await using api = await start("1.37");
    await api.create(path(), migration({ group: "apps", resource: "deployments" }));
    const { body } = await api.get(`${path("v1")}/m`);
    expect(body).toMatchObject({
      apiVersion: `${GROUP}/v1`,
      spec: { resource: { group: "apps", resource: "deployments" } },
    });
    const status = { resourceVersion: "5", conditions: [RUNNING] };
    expect((await api.put(`${path("v1")}/m/status`, { ...body, status })).status).toBe(200);
    expect((await api.get(`${path()}/m`)).body.status).toEqual(status);
    const both = await api.mergePatch(`${path("v1")}/m/status`, { status: { conditions: [SUCCEEDED, FAILED] } });
    expect(sentences(both)).toHaveLength(1);
  });

  test("in v1alpha1 must name the version of the resource, and cannot be running and succeeded at the same time", async () => {
    await using api = await start("1.34", "v1alpha1");
    const alpha = path("v1alpha1");
    const spare = await api.create(alpha, migration({ resource: "secrets" }, {}, "v1alpha1"));
    expect(sentences(spare)).toEqual(["spec.resource.version: Required value: version is required"]);
    const created = await api.create(alpha, migration({ resource: "secrets", version: "v1" }, {}, "v1alpha1"));
    expect(created.status).toBe(201);
    expect(created.body.status).toEqual({});
    const other = await api.mergePatch(`${alpha}/m`, { spec: { resource: { version: "v2" }, continueToken: "t" } });
    expect(sentences(other)).toEqual(['version: Invalid value: "v2": field is immutable']);
    const seen = (type: string, status = "True"): Json => ({ type, status, lastUpdateTime: TIME, reason: "Because" });
    const twice = await api.mergePatch(`${alpha}/m/status`, {
      status: { conditions: [seen("Running"), seen("Succeeded")] },
    });
    expect(twice.body.message).toMatch(/: Running condition cannot be true when success condition is true$/);
    const ended = { resourceVersion: "5", conditions: [seen("Running", "False"), seen("Succeeded")] };
    const response = await api.mergePatch(`${alpha}/m/status`, { status: ended });
    expect(response.body.status).toEqual(ended);
  });
});

test("a table contains the resource and the last condition that is True", async () => {
  await using api = await start();
  const cells = async (): Promise<Json> => {
    const table = await api.get(`${path()}/m`, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
    expect(table.body.columnDefinitions.map(({ name }: Json) => name)).toEqual(["Name", "Resource", "Status"]);
    return table.body.rows[0].cells;
  };
  await api.create(path(), migration({ group: "example.com", resource: "foos" }));
  expect(await cells()).toEqual(["m", "foos.example.com", "Unknown"]);
  const conditions = [RUNNING, condition("Other"), condition("Failed", "False")];
  await api.mergePatch(`${path()}/m/status`, { status: { conditions } });
  expect(await cells()).toEqual(["m", "foos.example.com", "Running"]);
  await api.mergePatch(`${path()}/m/status`, { status: { conditions: [RUNNING, SUCCEEDED] } });
  expect(await cells()).toEqual(["m", "foos.example.com", "Succeeded"]);
});
