/**
 * Tests of the deletion of objects that cannot be read, with the option
 * ignoreStoreReadErrorWithClusterBreakingPotential. The expected responses of release 1.36 are those of a
 * kube-apiserver 1.36.4 with the feature gate on.
 */
import { describe, expect, test } from "vitest";
import type { AuditGiven } from "../../src/access/audit/options.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import { BAD, KEY, store, VALUES } from "./corrupt-values.ts";
import {
  CONFIG_MAPS,
  configMap,
  names,
  pod,
  PODS,
  startServer,
  type ApiTestResponse,
  type Json,
  type StartOptions,
  type TestServer,
} from "./start.ts";

const OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential";
const UNSAFE = { [OPTION]: true };
const GATE = "AllowUnsafeMalformedObjectDeletion";
const NOT_CORRUPT = "is exclusively used to delete corrupt object(s), try again by removing this option";
const NAMESPACES = "/api/v1/namespaces";

function start(options: StartOptions = {}): Promise<TestServer> {
  return startServer({ release: "1.36", featureGates: [`${GATE}=true`], ...options });
}

function causes({ body }: ApiTestResponse): string[] {
  return body.details.causes.map(({ field, message }: Json) => `${field}: ${message}`);
}

describe("the feature gate", () => {
  test.each<[string, readonly string[], number]>([
    ["1.28", [`${GATE}=true`], 500],
    ["1.31", ["AllAlpha=true"], 500],
    ["1.32", [], 500],
    ["1.32", [`${GATE}=true`], 200],
    ["1.36", [], 500],
    ["1.36", ["AllAlpha=true"], 200],
    ["1.36", ["AllAlpha=true", `${GATE}=false`], 500],
    ["1.36", ["AllBeta=true"], 500],
    ["1.37", [], 200],
    ["1.37", ["AllBeta=false"], 500],
    ["1.37", [`${GATE}=false`], 500],
  ])("of release %s with %j: a deletion of an unreadable object returns %i", async (release, featureGates, status) => {
    await using api = await startServer({ release, featureGates });
    await store(api, "junk");
    expect((await api.delete(BAD, UNSAFE)).status).toBe(status);
    expect((await api.kv.range({ start: KEY })).items).toHaveLength(status === 200 ? 0 : 1);
  });

  test("if off, drops the option before validation: a readable object is deleted", async () => {
    await using api = await startServer({ release: "1.36" });
    await api.create(CONFIG_MAPS, configMap("good"));
    const options = { ...UNSAFE, propagationPolicy: "Background" };
    expect((await api.delete(`${CONFIG_MAPS}/good`, options)).status).toBe(200);
    expect((await api.delete(CONFIG_MAPS, UNSAFE)).status).toBe(200);
  });
});

describe("the deletion of an unreadable object", () => {
  test.each(VALUES)("(%s) removes it, and its name can be used for a new object", async (_what, value) => {
    await using api = await start();
    await store(api, value);
    const deleted = await api.delete(BAD, UNSAFE);
    expect([deleted.status, deleted.body]).toEqual([
      200,
      {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: { name: "bad", kind: "ConfigMap" },
        code: 200,
      },
    ]);
    expect((await api.get(BAD)).status).toBe(404);
    expect(names(await api.get(CONFIG_MAPS))).toEqual([]);
    expect((await api.create(CONFIG_MAPS, configMap("bad"))).status).toBe(201);
  });

  test("accepts the option in the query", async () => {
    await using api = await start();
    await store(api, "junk");
    expect((await api.delete(`${BAD}?${OPTION}=false`)).status).toBe(500);
    expect((await api.delete(`${BAD}?${OPTION}=true`)).status).toBe(200);
  });

  test("skips finalizers, the grace period and admission", async () => {
    await using api = await start();
    const metadata = { name: "p", namespace: "default", uid: "u", finalizers: ["example.com/keep"] };
    const value = { ...pod("p"), apiVersion: "v7", metadata };
    await store(api, JSON.stringify(value), "/registry/pods/default/p");
    await api.create("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
      metadata: { name: "deny" },
      webhooks: [
        {
          name: "deny.example.com",
          clientConfig: { url: "https://127.0.0.1:1/deny" },
          rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["pods"] }],
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
        },
      ],
    });
    expect((await api.delete(`${PODS}/p`, UNSAFE)).status).toBe(200);
    expect((await api.kv.range({ start: "/registry/pods/default/p" })).items).toEqual([]);
  });

  test("works for a custom resource that is stored in a version that its CRD does not have", async () => {
    await using api = await start();
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    });
    await api.world.advance(10_000);
    const widgets = "/apis/example.com/v1/namespaces/default/widgets";
    const value = { kind: "Widget", apiVersion: "example.com/v0", metadata: { name: "a", namespace: "default" } };
    await store(api, JSON.stringify(value), "/registry/example.com/widgets/default/a");
    const list = await api.get(widgets);
    expect([list.status, list.body.reason, list.body.message]).toEqual([
      500,
      "StorageReadError",
      "failed to read one or more widgets.example.com from the storage",
    ]);
    expect((await api.delete(`${widgets}/a`)).status).toBe(500);
    expect((await api.delete(`${widgets}/a`, UNSAFE)).status).toBe(200);
    expect(names(await api.get(widgets))).toEqual([]);
  });

  test("judges the value that it deletes: a value that another writer repairs meanwhile is kept", async () => {
    let repair: (() => Promise<unknown>) | undefined;
    await using api = await start({
      wrapKv: (kv) =>
        overlaidKv(kv, {
          async commit(change) {
            if (change.kind === "delete" && change.key === KEY) await repair?.();
            return kv.commit(change);
          },
        }),
    });
    await store(api, "junk");
    const metadata = { name: "bad", namespace: "default", uid: "u" };
    repair = async () => {
      repair = undefined;
      await store(api, JSON.stringify({ ...configMap("bad"), metadata }));
    };
    expect((await api.delete(BAD, UNSAFE)).status).toBe(422);
    expect(repair).toBeUndefined();
    expect((await api.get(BAD)).status).toBe(200);
  });
});

describe("the deletion of an object that can be read", () => {
  test.each(["good", "absent"])("(%s) is invalid before release 1.37", async (name) => {
    await using api = await start();
    await api.create(CONFIG_MAPS, configMap("good"));
    const rejected = await api.delete(`${CONFIG_MAPS}/${name}`, UNSAFE);
    expect(rejected.body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: `configmaps "${name}" is invalid: ${OPTION}: Invalid value: true: ${NOT_CORRUPT}`,
      reason: "Invalid",
      details: {
        name,
        kind: "configmaps",
        causes: [{ reason: "FieldValueInvalid", message: `Invalid value: true: ${NOT_CORRUPT}`, field: OPTION }],
      },
      code: 422,
    });
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["good"]);
  });

  test("is a conflict from release 1.37 on, and that of an absent object returns 404", async () => {
    await using api = await start({ release: "1.37" });
    await api.create(CONFIG_MAPS, configMap("good"));
    const rejected = await api.delete(`${CONFIG_MAPS}/good`, UNSAFE);
    expect([rejected.status, rejected.body.message]).toEqual([
      409,
      'Operation cannot be fulfilled on configmaps "good": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/good, ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage',
    ]);
    expect((await api.delete(`${CONFIG_MAPS}/absent`, UNSAFE)).status).toBe(404);
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["good"]);
  });
});

describe("the option", () => {
  const others = { propagationPolicy: "Background", gracePeriodSeconds: 0, preconditions: {} };
  const together = (name: string): string => `${OPTION}: Invalid value: true: cannot be set together with .${name}`;

  test("cannot be combined with other options, or with a dry run before release 1.37", async () => {
    await using api = await start();
    await store(api, "junk");
    const rejected = await api.delete(BAD, { ...UNSAFE, ...others, dryRun: ["All"] });
    expect([rejected.status, rejected.body.details.kind]).toEqual([422, "DeleteOptions"]);
    const expected = ["dryRun", "propagationPolicy", "gracePeriodSeconds", "preconditions"].map(together);
    expect(causes(rejected)).toEqual(expected);
    const orphaning = await api.delete(BAD, { ...UNSAFE, orphanDependents: true });
    expect(causes(orphaning)).toEqual([together("orphanDependents")]);
    expect((await api.delete(BAD, { [OPTION]: false, ...others })).status).toBe(500);
    expect((await api.get(BAD)).status).toBe(500);
  });

  test("with a dry run, from release 1.37 on, deletes nothing", async () => {
    await using api = await start({ release: "1.37" });
    await store(api, "junk");
    await api.create(CONFIG_MAPS, configMap("good"));
    const dryRun = { ...UNSAFE, dryRun: ["All"] };
    expect((await api.delete(BAD, dryRun)).status).toBe(200);
    expect((await api.delete(`${CONFIG_MAPS}/good`, dryRun)).status).toBe(409);
    expect((await api.get(BAD)).status).toBe(500);
  });

  test("is rejected for a collection", async () => {
    await using api = await start();
    await api.create(CONFIG_MAPS, configMap("good"));
    const rejected = await api.delete(CONFIG_MAPS, UNSAFE);
    expect([rejected.status, causes(rejected)]).toEqual([
      422,
      [`${OPTION}: Invalid value: true: is not allowed with DELETECOLLECTION, try again after removing the option`],
    ]);
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["good"]);
  });

  test("requires permission for the verb unsafe-delete-ignore-read-errors, and the audit event shows its use", async () => {
    const lines: string[] = [];
    await using api = await start({
      access: {},
      tokenFile: "secret,croc,croc",
      audit: AUDIT,
      openAuditLog: () =>
        Promise.resolve({
          write: (given) => Promise.resolve((lines.push(...given.map(String)), [])),
          close: () => Promise.resolve(),
        }),
    });
    await store(api, "junk");
    const asCroc = { asClient: true, headers: { authorization: "Bearer secret" } };
    await grant(api, ["delete"]);
    const denied = await api.call("DELETE", BAD, UNSAFE, asCroc);
    expect([denied.status, denied.body.message, denied.body.details]).toEqual([
      403,
      'configmaps "bad" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: ',
      { name: "bad", kind: "configmaps" },
    ]);
    await grant(api, ["unsafe-delete-ignore-read-errors"]);
    expect((await api.call("DELETE", BAD, UNSAFE, asCroc)).status).toBe(200);
    const events: Json[] = lines.map((line) => JSON.parse(line)).filter(({ verb }) => verb === "delete");
    expect(events.map(({ annotations }) => annotations["apiserver.k8s.io/unsafe-delete-ignore-read-error"])).toEqual([
      "",
      "",
    ]);
  });

  test("deletes an unreadable namespace only if the namespace is empty", async () => {
    await using api = await start();
    await api.create(NAMESPACES, { metadata: { name: "broken" } });
    await api.create(`${NAMESPACES}/broken/configmaps`, configMap("a"));
    await store(api, "junk", "/registry/namespaces/broken");
    const held = await api.delete(`${NAMESPACES}/broken`, UNSAFE);
    expect([held.status, held.body.message]).toEqual([
      409,
      expect.stringContaining("the namespace still holds 1 object: 1 configmaps"),
    ]);
    expect((await api.delete(`${NAMESPACES}/broken/configmaps/a`)).status).toBe(200);
    expect((await api.delete(`${NAMESPACES}/broken`, UNSAFE)).status).toBe(200);
    expect((await api.get(`${NAMESPACES}/broken`)).status).toBe(404);
  });
});

const AUDIT: AuditGiven = {
  policy: {
    file: "policy.yaml",
    value: {
      apiVersion: "audit.k8s.io/v1",
      kind: "Policy",
      rules: [{ level: "Metadata", omitStages: ["RequestReceived"] }],
    },
  },
  logPath: "audit.log",
  ...{ logFormat: "json", logMode: "blocking", logVersion: "audit.k8s.io/v1" },
  ...{ logMaxAge: 0, logMaxBackup: 0, logMaxSize: 100, logCompress: false },
  batch: { bufferSize: 1, sizeMax: 1, waitMaxMs: 0, isThrottled: false, throttlePerSecond: 0, throttleBurst: 0 },
  truncate: { isEnabled: false, batchBytesMax: 1e7, eventBytesMax: 1e5 },
};

/** Grants the verbs on config maps of the default namespace to the user croc. */
async function grant(api: TestServer, verbs: readonly string[]): Promise<void> {
  const group = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
  const [name = ""] = verbs;
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs }];
  expect((await api.create(`${group}/roles`, { metadata: { name }, rules })).status).toBe(201);
  const binding = {
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ kind: "User", name: "croc" }],
  };
  expect((await api.create(`${group}/rolebindings`, binding)).status).toBe(201);
}

describe("while unreadable objects can be deleted, a list that contains them", () => {
  const text = (revision: number, why: string): string =>
    `StorageError: corrupt object, Code: 7, Key: ${KEY}, ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=${revision}: ${why}`;

  test("names all of them", async () => {
    await using api = await start();
    await store(api, "junk");
    const revision = await api.kv.currentRevision();
    await store(api, "[1]", `${KEY}-2`);
    await api.create(CONFIG_MAPS, configMap("good"));
    const list = await api.get(`${CONFIG_MAPS}?labelSelector=a%3Db`);
    expect([list.status, list.body.reason, list.body.message]).toEqual([
      500,
      "StorageReadError",
      "failed to read one or more configmaps from the storage",
    ]);
    const { causes: found, ...details } = list.body.details;
    expect(details).toEqual({ name: "list", kind: "configmaps" });
    expect(found).toEqual([
      { reason: "UnexpectedServerResponse", message: text(revision, "the value is not valid JSON"), field: KEY },
      { reason: "UnexpectedServerResponse", message: expect.any(String), field: `${KEY}-2` },
    ]);
  });

  test("names at most 100 of them, and from release 1.37 on the first one in its message", async () => {
    await using api = await start({ release: "1.37" });
    await store(api, "junk");
    const revision = await api.kv.currentRevision();
    const first = `failed to read one or more configmaps from the storage: ${text(revision, "the value is not valid JSON")}`;
    expect((await api.get(CONFIG_MAPS)).body.message).toBe(first);
    for (let at = 0; at < 100; at++) await store(api, "junk", `${KEY}-${at}`);
    const { body } = await api.get(CONFIG_MAPS);
    expect(body.message).toBe(`${first} (and 99 more)`);
    expect(body.details.causes).toHaveLength(101);
    expect(body.details.causes[100]).toEqual({
      reason: "FieldValueTooMany",
      message: "too many errors, the list is truncated",
    });
  });
});

describe("a watch", () => {
  test("that is open when an unreadable object is deleted ends with StorageReadError", async () => {
    await using api = await start();
    await store(api, "junk");
    const revision = await api.kv.currentRevision();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${revision}`);
    const other = await api.watch(`${NAMESPACES}/kube-system/configmaps?watch=true&resourceVersion=${revision}`);
    await api.delete(BAD, UNSAFE);
    expect(await watch.events()).toEqual([
      {
        type: "ERROR",
        object: {
          kind: "Status",
          apiVersion: "v1",
          metadata: {},
          status: "Failure",
          message: `saw a DELETED event, but object data is corrupt - object not decodable revision=${revision + 1}: the value is not valid JSON`,
          reason: "StorageReadError",
          code: 500,
        },
      },
    ]);
    expect([watch.isEnded, await other.events(), other.isEnded]).toEqual([true, [], false]);
  });

  test("that resumes before an unreadable value, which is gone, gets 410 and so lists; after a list it continues", async () => {
    await using api = await start();
    await api.create(CONFIG_MAPS, configMap("good"));
    const before = await api.kv.currentRevision();
    await store(api, "junk");
    const stillThere = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${before}`);
    expect((await stillThere.events()).map(({ object }) => object.code)).toEqual([500]);
    await api.delete(BAD, UNSAFE);
    for (const revision of [before, before + 1]) {
      const resumed = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${revision}`);
      expect(await resumed.events()).toMatchObject([{ type: "ERROR", object: { code: 410, reason: "Expired" } }]);
    }
    const list = await api.get(CONFIG_MAPS);
    expect(names(list)).toEqual(["good"]);
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${list.body.metadata.resourceVersion}`);
    await api.create(CONFIG_MAPS, configMap("after"));
    expect(await watch.story()).toEqual(["ADDED after"]);
  });
});

test.each<[string, string, Json]>([
  ["pods", "pods", { kind: "Pod", spec: 7, status: "x" }],
  ["pods", "pods", { kind: "Pod", spec: { containers: 5, volumes: [1] } }],
  ["configmaps", "configmaps", { kind: "ConfigMap", metadata: { name: 5, labels: ["x"], finalizers: 5 }, data: 5 }],
  ["services", "services/specs", { kind: "Service", spec: { ports: "x", clusterIPs: 7, clusterIP: [] } }],
  ["services", "services/specs", { kind: "Service", spec: { ports: [null, 5], clusterIPs: [5], clusterIP: 5 } }],
])("of %s under %s, the value %j, whose fields have wrong types, can be deleted", async (resource, prefix, value) => {
  await using api = await start();
  const metadata = { name: "x", namespace: "default", uid: "u" };
  await store(api, JSON.stringify({ apiVersion: "v1", metadata, ...value }), `/registry/${prefix}/default/x`);
  const path = `/api/v1/namespaces/default/${resource}/x`;
  const isReadable = (await api.delete(path, UNSAFE)).status === 422;
  expect((await api.delete(path, { gracePeriodSeconds: 0 })).status).toBe(isReadable ? 200 : 404);
  expect((await api.get(path)).status).toBe(404);
});

test("an eviction cannot have the option from release 1.32 on", async () => {
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "p" }, deleteOptions: UNSAFE };
  for (const [release, status] of [
    ["1.31", 201],
    ["1.32", 422],
  ] as const) {
    await using api = await startServer({ release });
    await api.create(PODS, pod("p"));
    expect((await api.create(`${PODS}/p/eviction`, body)).status).toBe(status);
  }
});
