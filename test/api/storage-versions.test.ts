import { describe, expect, test } from "vitest";
import { startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

const API_VERSION = "internal.apiserver.k8s.io/v1alpha1";
const STORAGE_VERSIONS = `/apis/${API_VERSION}/storageversions`;
const LABEL_1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

function start(): Promise<TestServer> {
  return startServer({ release: "1.36", runtimeConfig: [`${API_VERSION}=true`], controllers: [] });
}

function storageVersion(metadata: Json, rest: Json = {}): Json {
  return { apiVersion: API_VERSION, kind: "StorageVersion", metadata, ...rest };
}

function entry(more: Json = {}): Json {
  return { apiServerID: "a", encodingVersion: "v1", decodableVersions: ["v1"], ...more };
}

function condition(more: Json = {}): Json {
  return { type: "AllEncodingVersionsEqual", status: "True", reason: "Because", message: "so it is", ...more };
}

/** Creates a StorageVersion and writes its status through the status subresource. */
async function putStatus(api: TestServer, status: Json): Promise<ApiTestResponse> {
  const { body } = await api.create(STORAGE_VERSIONS, storageVersion({ name: "example.com.things" }));
  return api.put(`${STORAGE_VERSIONS}/example.com.things/status`, { ...body, status });
}

function sentences(response: ApiTestResponse): string[] {
  expect(response).toMatchObject({ status: 422, body: { reason: "Invalid" } });
  return response.body.details.causes.map((cause: Json) => `${cause.field}: ${cause.message}`);
}

describe("a new StorageVersion", () => {
  test("has an empty spec and status, whatever the client sends", async () => {
    await using api = await start();
    const status = { storageVersions: [entry()], commonEncodingVersion: "v1" };
    const created = await api.create(STORAGE_VERSIONS, storageVersion({ name: "example.com.things" }, { status }));
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ kind: "StorageVersion", spec: {}, status: {} });
    expect(created.body.status).toEqual({});
    expect(created.body.metadata).not.toHaveProperty("generation");
    const { body } = await api.get(`${STORAGE_VERSIONS}/example.com.things`);
    expect([body.spec, body.status]).toEqual([{}, {}]);
  });

  test("must have the name GROUP.RESOURCE", async () => {
    await using api = await start();
    const rejected = await api.create(STORAGE_VERSIONS, storageVersion({ name: "nodot" }));
    expect(rejected.status).toBe(422);
    expect(rejected.body).toMatchObject({
      message:
        'StorageVersion.internal.apiserver.k8s.io "nodot" is invalid: metadata.name: Invalid value: "nodot": name must be in the form of <group>.<resource>',
      details: { group: "internal.apiserver.k8s.io", kind: "StorageVersion", name: "nodot" },
    });
    const wrong = await api.create(STORAGE_VERSIONS, storageVersion({ name: "example.com.2things" }));
    expect(sentences(wrong)).toEqual([
      `metadata.name: Invalid value: "example.com.2things": the resource segment ${LABEL_1035}`,
    ]);
    const long = await api.create(STORAGE_VERSIONS, storageVersion({ name: `${"a".repeat(254)}.${"b".repeat(64)}` }));
    expect(sentences(long).map((sentence) => sentence.replace(/"[ab.]+"/, "…"))).toEqual([
      "metadata.name: Invalid value: …: the group segment must be no more than 253 characters",
      "metadata.name: Invalid value: …: the resource segment must be no more than 63 characters",
    ]);
    for (const name of [`${"a".repeat(253)}.things`, `example.com.${"b".repeat(63)}`])
      expect((await api.create(STORAGE_VERSIONS, storageVersion({ name }))).status).toBe(201);
    expect(sentences(await api.create(STORAGE_VERSIONS, storageVersion({})))).toEqual([
      "metadata.name: Required value: name or generateName is required",
    ]);
  });

  test("can have a generated name if the prefix is a valid name", async () => {
    await using api = await start();
    const created = await api.create(STORAGE_VERSIONS, storageVersion({ generateName: "test.resource" }));
    expect(created.status).toBe(201);
    expect(created.body.metadata.name).toMatch(/^test\.resource.{5}$/);
    const dash = await api.create(STORAGE_VERSIONS, storageVersion({ generateName: "test.resource-" }));
    expect(sentences(dash)).toEqual([
      `metadata.generateName: Invalid value: "test.resource-": the resource segment ${LABEL_1035}`,
    ]);
  });

  test("cannot be created by a PUT of the object or of its status", async () => {
    await using api = await start();
    for (const door of ["", "/status"]) {
      const response = await api.put(
        `${STORAGE_VERSIONS}/example.com.things${door}`,
        storageVersion({ name: "example.com.things" }),
      );
      expect(response.status).toBe(404);
      expect(response.body.message).toBe('storageversions.internal.apiserver.k8s.io "example.com.things" not found');
    }
  });
});

describe("an update of a StorageVersion", () => {
  test("needs a resource version, through the object and through the status", async () => {
    await using api = await start();
    await api.create(STORAGE_VERSIONS, storageVersion({ name: "example.com.things" }));
    for (const door of ["", "/status"]) {
      for (const more of [{}, { resourceVersion: "0" }]) {
        const changed = storageVersion(
          { name: "example.com.things", ...more },
          { status: { commonEncodingVersion: "x" } },
        );
        const response = await api.put(`${STORAGE_VERSIONS}/example.com.things${door}`, changed);
        expect(response.status).toBe(422);
        expect(response.body).toMatchObject({
          message:
            'storageversions.internal.apiserver.k8s.io "example.com.things" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
          details: {
            group: "internal.apiserver.k8s.io",
            kind: "storageversions",
            name: "example.com.things",
            causes: [
              {
                field: "metadata.resourceVersion",
                message: "Invalid value: 0: must be specified for an update",
                reason: "FieldValueInvalid",
              },
            ],
          },
        });
      }
    }
  });

  test("through the object keeps the status and validates the metadata only", async () => {
    await using api = await start();
    const status = { storageVersions: [entry()], commonEncodingVersion: "v1", conditions: [condition()] };
    const { body } = await putStatus(api, status);
    const { metadata } = body;
    const changed = await api.put(
      `${STORAGE_VERSIONS}/example.com.things`,
      storageVersion({ ...metadata, labels: { a: "b" } }, { status: { commonEncodingVersion: "-lie-" } }),
    );
    expect(changed.status).toBe(200);
    expect(changed.body.metadata.labels).toEqual({ a: "b" });
    expect(changed.body).toMatchObject({ spec: {}, status });
    const bad = await api.mergePatch(`${STORAGE_VERSIONS}/example.com.things`, { metadata: { labels: { "-": "b" } } });
    expect(sentences(bad)[0]).toMatch(/^metadata\.labels: Invalid value: "-"/);
  });

  test("through the status keeps spec and metadata, and its manager owns the status only", async () => {
    await using api = await start();
    const made = { name: "example.com.things", labels: { a: "b" }, annotations: { c: "d" }, finalizers: ["x.io/y"] };
    const { body } = await api.create(STORAGE_VERSIONS, storageVersion(made));
    const other = { labels: { z: "1" }, annotations: undefined, finalizers: [] };
    const changed = { ...body, metadata: { ...body.metadata, ...other }, status: { conditions: [condition()] } };
    const response = await api.call(
      "PUT",
      `${STORAGE_VERSIONS}/example.com.things/status?fieldManager=publisher`,
      changed,
    );
    expect(response.status).toBe(200);
    expect(response.body.metadata).toMatchObject({ uid: body.metadata.uid, ...made });
    expect(response.body.metadata.labels).toEqual({ a: "b" });
    expect(response.body.status.conditions).toHaveLength(1);
    const owners = new Map(response.body.metadata.managedFields.map((owner: Json) => [owner.manager, owner]));
    const [creator, publisher]: Json[] = ["unknown", "publisher"].map((manager) => owners.get(manager));
    expect(creator.fieldsV1["f:metadata"]["f:labels"]).toEqual({ ".": {}, "f:a": {} });
    expect(publisher.subresource).toBe("status");
    expect(Object.keys(publisher.fieldsV1)).toEqual(["f:status"]);
  });

  test("that removes the status stores an empty one", async () => {
    await using api = await start();
    const { body } = await putStatus(api, { conditions: [condition()] });
    const { status: _status, ...rest } = body;
    const response = await api.put(`${STORAGE_VERSIONS}/example.com.things/status`, rest);
    expect(response.status).toBe(200);
    expect(response.body.status).toEqual({});
  });
});

describe("the status of a StorageVersion", () => {
  test("is stored if it is consistent", async () => {
    await using api = await start();
    const status = {
      storageVersions: [
        entry({ servedVersions: ["v1"] }),
        entry({ apiServerID: "b", decodableVersions: ["v1", "example.com/v2"] }),
      ],
      commonEncodingVersion: "v1",
      conditions: [condition({ lastTransitionTime: "2030-01-01T00:00:00Z" })],
    };
    const response = await putStatus(api, status);
    expect(response.status).toBe(200);
    expect(response.body.status).toEqual(status);
  });

  test("that is invalid is rejected with all errors, in the order of the fields", async () => {
    await using api = await start();
    const status = {
      storageVersions: [entry(), entry({ decodableVersions: ["v2"], servedVersions: ["v1"] })],
      commonEncodingVersion: "v2",
      conditions: [condition(), condition({ reason: "", message: "" })],
    };
    const response = await putStatus(api, status);
    expect(sentences(response)).toEqual([
      'status.storageVersions[1].apiServerID: Duplicate value: "a"',
      'status.storageVersions[1].decodableVersions: Invalid value: ["v2"]: decodableVersions must include encodingVersion v1',
      'status.storageVersions[1].servedVersions[0]: Invalid value: "v1": individual served version : v1 must be included in decodableVersions : [v2]',
      'status.commonEncodingVersion: Invalid value: "v2": the actual common encoding version is v1',
      'status[1].type: Invalid value: "AllEncodingVersionsEqual": the type of the condition is not unique, it also appears in conditions[0]',
      "status[1].reason: Required value",
      "status[1].message: Required value",
    ]);
    expect(response.body.details).toMatchObject({ kind: "StorageVersion", name: "example.com.things" });
  });

  test("is validated in a patch as in a PUT", async () => {
    await using api = await start();
    await putStatus(api, { storageVersions: [entry()], commonEncodingVersion: "v1" });
    const patch = { status: { commonEncodingVersion: null } };
    expect(sentences(await api.mergePatch(`${STORAGE_VERSIONS}/example.com.things/status`, patch))).toEqual([
      "status.commonEncodingVersion: Invalid value: null: the common encoding version is v1",
    ]);
    const unknown = { status: { ...patch.status, conditions: [condition({ status: "Unknown" })] } };
    expect((await api.mergePatch(`${STORAGE_VERSIONS}/example.com.things/status`, unknown)).status).toBe(200);
  });
});

test("a table contains the common encoding version and the first three servers", async () => {
  await using api = await start();
  const { body } = await api.create(STORAGE_VERSIONS, storageVersion({ name: "example.com.things" }));
  const cells = async (): Promise<Json> => {
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const table = await api.get(`${STORAGE_VERSIONS}/example.com.things`, { accept });
    expect(table.body.columnDefinitions.map(({ name }: Json) => name)).toEqual([
      "Name",
      "CommonEncodingVersion",
      "StorageVersions",
      "Age",
    ]);
    return table.body.rows[0].cells.slice(0, 3);
  };
  expect(await cells()).toEqual(["example.com.things", "<unset>", "<unset>"]);
  const storageVersions = ["a", "b", "c", "d", "e"].map((apiServerID) => entry({ apiServerID }));
  const status = { storageVersions, commonEncodingVersion: "v1" };
  await api.put(`${STORAGE_VERSIONS}/example.com.things/status`, { ...body, status });
  expect(await cells()).toEqual(["example.com.things", "v1", "a=v1,b=v1,c=v1 + 2 more..."]);
});
