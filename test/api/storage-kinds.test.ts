/**
 * Tests of the storage kinds (claims, volumes, StorageClasses, attachments) through the whole server: defaults,
 * validation messages and warnings.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { header, startServer, type TestServer } from "./start.ts";

const VOLUMES = "/api/v1/persistentvolumes";
const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const CLASSES = "/apis/storage.k8s.io/v1/storageclasses";
const ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments";
const CLAIM_SPEC = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

let server: TestServer;
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server[Symbol.asyncDispose]());

test("a claim gets its defaults and the finalizer that protects it while it is in use", async () => {
  const { status, body } = await server.create(CLAIMS, { metadata: { name: "c" }, spec: CLAIM_SPEC });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    metadata: { finalizers: ["kubernetes.io/pvc-protection"] },
    spec: { ...CLAIM_SPEC, volumeMode: "Filesystem" },
    status: { phase: "Pending" },
  });
  // The creator owns the fields that it sent and their defaults, but not the fields that admission plugins added.
  expect(body.metadata.managedFields[0].fieldsV1).toEqual({
    "f:spec": {
      "f:accessModes": {},
      "f:resources": { "f:requests": { ".": {}, "f:storage": {} } },
      "f:volumeMode": {},
    },
  });
  const deleted = await server.delete(`${CLAIMS}/c`);
  expect(deleted.body.metadata.deletionTimestamp).toBeDefined();
  await server.mergePatch(`${CLAIMS}/c`, { metadata: { finalizers: null } });
  expect((await server.get(`${CLAIMS}/c`)).status).toBe(404);
});

test("the spec of a claim is immutable, except that a bound claim can be expanded if its class allows it", async () => {
  await server.create(CLAIMS, { metadata: { name: "c" }, spec: { ...CLAIM_SPEC, storageClassName: "grows" } });
  const grown = { spec: { resources: { requests: { storage: "2Gi" } } } };
  const rejected = await server.mergePatch(`${CLAIMS}/c`, grown);
  expect([rejected.status, rejected.body.details.causes.length]).toEqual([422, 1]);
  expect(rejected.body.message).toMatch(
    /^PersistentVolumeClaim "c" is invalid: spec: Forbidden: spec is immutable after creation except resources\.requests and volumeAttributesClassName for bound claims\n@@ -/,
  );
  const status = { phase: "Bound", capacity: { storage: "1Gi" } };
  expect((await server.mergePatch(`${CLAIMS}/c/status`, { status })).body.status).toEqual(status);
  expect((await server.mergePatch(`${CLAIMS}/c`, grown)).status).toBe(403);
  await server.create(CLASSES, {
    metadata: { name: "grows" },
    provisioner: "example.com/disks",
    allowVolumeExpansion: true,
  });
  expect((await server.mergePatch(`${CLAIMS}/c`, grown)).body.spec.resources.requests.storage).toBe("2Gi");
});

test("a volume records the time of its last phase transition, a deprecated reclaim policy causes a warning, and its source is immutable", async () => {
  const spec = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/data" } };
  const recycled = { ...spec, persistentVolumeReclaimPolicy: "Recycle" };
  const created = await server.create(VOLUMES, { metadata: { name: "v" }, spec: recycled });
  expect(header(created, "warning")).toContain("The Recycle reclaim policy is deprecated.");
  expect(created.body.status).toEqual({ phase: "Pending", lastPhaseTransitionTime: expect.stringMatching(/Z$/) });
  const moved = await server.mergePatch(`${VOLUMES}/v`, { spec: { hostPath: { path: "/other" } } });
  expect(moved.body.details.causes).toEqual([
    expect.objectContaining({ field: "spec.persistentvolumesource", reason: "FieldValueForbidden" }),
  ]);
});

test("an invalid StorageClass is rejected with all errors, in the order of the fields", async () => {
  const wrong = { metadata: { name: "s" }, provisioner: "", reclaimPolicy: "Recycle" };
  const { status, body } = await server.create(CLASSES, wrong);
  expect([status, body.message]).toEqual([
    422,
    'StorageClass.storage.k8s.io "s" is invalid: [provisioner: Required value, reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"]',
  ]);
});

test("the status of a VolumeAttachment is written through its subresource, which does not write metadata", async () => {
  const spec = { attacher: "d.example.com", nodeName: "n", source: { persistentVolumeName: "v" } };
  await server.create(ATTACHMENTS, { metadata: { name: "a" }, spec });
  const patch = { metadata: { labels: { a: "b" } }, status: { attached: true } };
  const { body } = await server.mergePatch(`${ATTACHMENTS}/a/status`, patch);
  expect([body.metadata.labels, body.status]).toEqual([undefined, { attached: true }]);
});
