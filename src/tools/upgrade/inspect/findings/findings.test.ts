import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { aesGcm } from "../../../../storage/encryption/ciphers.ts";
import { parseEncryptionConfig } from "../../../../storage/encryption/encryption-config.ts";
import type { OpenKmsPlugin } from "../../../../storage/encryption/active-encryption.ts";
import { DATA_KEY_TYPE, encodeValue } from "../../../../storage/encryption/kms/messages.ts";
import type { UpgradeFinding } from "../../finding.ts";
import { protobuf, storedData, type StoredValue } from "../../../../../test/testing/tools/upgrade/stored-objects.ts";
import type { DecryptionOptions } from "../collect/encrypted-values.ts";
import { inspectStoredData, type InspectOptions } from "../inspect-stored-data.ts";
import type { Inspection } from "../inspection.ts";

type Values = Readonly<Record<string, StoredValue>>;

const KEY = Buffer.alloc(32, 1);
const random = { float: () => 0, bytes: (length: number) => randomBytes(length) };

async function inspect(values: Values, options: Partial<InspectOptions> = {}): Promise<Inspection> {
  const rest = { signal: new AbortController().signal, onProgress: () => {} };
  return inspectStoredData(storedData(values), { from: "1.33", to: ["1.36"], ...rest, ...options });
}

async function found(id: string, values: Values, options: Partial<InspectOptions> = {}): Promise<UpgradeFinding> {
  const { findings } = await inspect(values, options);
  const finding = findings.find((one) => one.id === id);
  expect(finding, `${id} is not among ${findings.map((one) => one.id).join(", ")}`).toBeDefined();
  return finding!;
}

async function idsOf(values: Values, options: Partial<InspectOptions> = {}): Promise<string[]> {
  return (await inspect(values, options)).findings.map(({ id }) => id);
}

function object(apiVersion: string, kind: string, metadata: JsonObject, rest: JsonObject = {}): JsonObject {
  return { kind, apiVersion, metadata, ...rest };
}

function crd(spec: JsonObject, storedVersions: readonly string[]): JsonObject {
  return object(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    { name: "widgets.shop.example", uid: "crd" },
    {
      spec: { group: "shop.example", names: { plural: "widgets", kind: "Widget" }, scope: "Namespaced", ...spec },
      status: { storedVersions },
    },
  );
}

const CRD_KEY = "apiextensions.k8s.io/customresourcedefinitions/widgets.shop.example";
const SHOP = { "namespaces/shop": object("v1", "Namespace", { name: "shop", uid: "shop" }) };
const V1 = { name: "v1", served: true, storage: true };
const V1BETA1 = { name: "v1beta1", served: true, storage: false };

function widget(version: string): JsonObject {
  return object(`shop.example/${version}`, "Widget", { name: "w", namespace: "shop", uid: `w-${version}` });
}

function written(manager: string, apiVersion: string, time = "2026-01-02T03:04:05Z"): JsonObject {
  return { managedFields: [{ manager, operation: "Update", apiVersion, time, fieldsType: "FieldsV1", fieldsV1: {} }] };
}

const noPlugin: OpenKmsPlugin = () => ({
  status: () => Promise.reject(new Error("no plugin")),
  encrypt: () => Promise.reject(new Error("no plugin")),
  decrypt: () => Promise.reject(new Error("no plugin")),
  close: () => {},
});

function decryption(...providers: JsonObject[]): DecryptionOptions {
  const parsed = parseEncryptionConfig({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [{ resources: ["secrets"], providers }],
  });
  if (!parsed.isValid) throw new Error(parsed.problems.join(" "));
  const clock = { now: () => 0, monotonic: () => 0, after: () => () => {} };
  return { config: parsed.config, clock, random, openPlugin: noPlugin };
}

function aesgcm(name: string, key = KEY): JsonObject {
  return { aesgcm: { keys: [{ name, secret: key.toString("base64") }] } };
}

function sealed(key: string, name: string, plain: Buffer): Buffer {
  const header = Buffer.from(`k8s:enc:aesgcm:v1:${name}:`);
  return Buffer.concat([header, aesGcm(KEY, random).encrypt(plain, Buffer.from(`/registry/${key}`))]);
}

const SECRET = object("v1", "Secret", { name: "s", namespace: "shop", uid: "s" }, { data: { password: "bWFya2Vy" } });
const SECRET_KEY = "secrets/shop/s";

function apiServer(name: string, version: string, ...flags: string[]): Values {
  const container = {
    name: "kube-apiserver",
    image: `registry.k8s.io/kube-apiserver:${version}`,
    command: ["kube-apiserver", ...flags],
  };
  const pod = object("v1", "Pod", { name, namespace: "kube-system", uid: name }, { spec: { containers: [container] } });
  return {
    "namespaces/kube-system": object("v1", "Namespace", { name: "kube-system", uid: "kube-system" }),
    [`pods/kube-system/${name}`]: protobuf(pod),
  };
}

test("stored-version-undecodable: a stored version that a hop cannot decode is an error before that hop", async () => {
  const values = {
    "horizontalpodautoscalers/shop/h": object("autoscaling/v2beta2", "HorizontalPodAutoscaler", { name: "h" }),
  };
  const finding = await found("stored-version-undecodable", { ...SHOP, ...values });
  expect(finding).toMatchObject({ severity: "error", release: "1.36", count: 1 });
  expect(finding.subjects).toEqual([
    { name: "horizontalpodautoscalers.autoscaling shop/h", detail: "stored as autoscaling/v2beta2" },
  ]);
  expect(finding.fix.join("\n")).toContain("When all API servers run 1.35, and before the first one runs 1.36");
  expect(finding.fix).toContain(
    "$ kubectl get horizontalpodautoscalers.autoscaling --all-namespaces -o json | kubectl replace -f -",
  );
});

test("stored-version-undecodable: without a release that writes a decodable version, the objects must be created again", async () => {
  const values = {
    "storageversionmigrations/m": object("storagemigration.k8s.io/v1alpha1", "StorageVersionMigration", { name: "m" }),
  };
  const finding = await found("stored-version-undecodable", values, { from: "1.34", to: ["1.35"] });
  expect(finding.fix.join("\n")).toContain("Save the objects, delete them before the upgrade");
});

test("resource-removed: objects of a resource that a hop does not have are reported with the hop", async () => {
  const values = {
    "podschedulingcontexts/shop/p": object("resource.k8s.io/v1alpha3", "PodSchedulingContext", { name: "p" }),
  };
  const finding = await found("resource-removed", { ...SHOP, ...values }, { from: "1.31", to: ["1.33"] });
  expect(finding).toMatchObject({ severity: "warning", release: "1.32" });
});

test("resource-not-served: objects of an API that is off by default are reported", async () => {
  const values = {
    "storageversionmigrations/m": object("storagemigration.k8s.io/v1beta1", "StorageVersionMigration", { name: "m" }),
  };
  const finding = await found("resource-not-served", values, { from: "1.35", to: ["1.36"] });
  expect(finding).toMatchObject({ severity: "warning", release: "1.36" });
});

test("rollback-unreadable: a version that only newer servers write and read is reported", async () => {
  const values = { "deviceclasses/d": object("resource.k8s.io/v1beta1", "DeviceClass", { name: "d" }) };
  const finding = await found("rollback-unreadable", values);
  expect(finding).toMatchObject({ severity: "warning", release: "1.35" });
  expect(finding.subjects[0]?.detail).toContain("1.35 writes resource.k8s.io/v1");
});

test("stored-by-newer-release: objects that `from` cannot decode now are reported", async () => {
  const values = { "deviceclasses/d": object("resource.k8s.io/v1", "DeviceClass", { name: "d" }) };
  expect(await found("stored-by-newer-release", values)).toMatchObject({ severity: "warning", count: 1 });
});

test("api-removed: a client that writes through a version that a hop removes is an error with manager and time", async () => {
  const apiVersion = "flowcontrol.apiserver.k8s.io/v1beta3";
  const values = {
    "flowschemas/f": protobuf(
      object("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", { name: "f", ...written("old-tool", apiVersion) }),
    ),
  };
  const finding = await found("api-removed", values, { from: "1.31", to: ["1.33"] });
  expect(finding).toMatchObject({ severity: "error", release: "1.32" });
  expect(finding.subjects).toEqual([
    {
      name: "old-tool",
      detail: "1 object of flowschemas.flowcontrol.apiserver.k8s.io, last write 2026-01-02T03:04:05Z",
    },
  ]);
});

test("api-removed: components of Kubernetes are not reported, because the upgrade replaces them", async () => {
  const metadata = { name: "f", ...written("kube-apiserver", "flowcontrol.apiserver.k8s.io/v1beta3") };
  const values = { "flowschemas/f": object("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", metadata) };
  expect(await idsOf(values, { from: "1.31", to: ["1.33"] })).not.toContain("api-removed");
});

test("api-disabled: a version that only --runtime-config enables is a warning", async () => {
  const metadata = { name: "d", ...written("tool", "resource.k8s.io/v1beta1") };
  const values = { "deviceclasses/d": object("resource.k8s.io/v1beta1", "DeviceClass", metadata) };
  const finding = await found("api-disabled", values);
  expect(finding.severity).toBe("warning");
});

test("api-deprecated, api-older, api-unserved: other versions are reported with their replacements", async () => {
  const hpa = (name: string, apiVersion: string): JsonObject =>
    object("autoscaling/v2", "HorizontalPodAutoscaler", { name, uid: name, ...written("old-cd-tool", apiVersion) });
  const values = {
    ...SHOP,
    "horizontalpodautoscalers/shop/a": hpa("a", "autoscaling/v1"),
    "horizontalpodautoscalers/shop/b": hpa("b", "autoscaling/v2beta1"),
  };
  const older = await found("api-older", values);
  expect(older).toMatchObject({ severity: "info", count: 1, subjects: [{ name: "old-cd-tool" }] });
  expect(older.fix[0]).toContain("autoscaling/v2");
  expect(await found("api-unserved", values)).toMatchObject({ severity: "info", count: 1 });
  const v1beta3 = "flowcontrol.apiserver.k8s.io/v1beta3";
  const flowSchema = object(v1beta3, "FlowSchema", { name: "f", ...written("tool", v1beta3) });
  const deprecated = await found("api-deprecated", { "flowschemas/f": flowSchema }, { from: "1.29", to: ["1.30"] });
  expect(deprecated.severity).toBe("warning");
  expect(deprecated.why).toContain("removes the version");
  expect(deprecated.fix[0]).toContain("flowcontrol.apiserver.k8s.io/v1.");
});

test("api-deprecated: a deprecated version without an announced removal is only info and names the new kind", async () => {
  const endpoints = (name: string, manager: string): JsonObject =>
    object("v1", "Endpoints", { name, ...written(manager, "v1") });
  const finding = await found("api-deprecated", {
    ...SHOP,
    "services/endpoints/shop/a": endpoints("a", "tool"),
    "services/endpoints/shop/b": endpoints("b", "k3s"),
  });
  expect(finding).toMatchObject({ severity: "info", count: 1, subjects: [{ name: "tool" }] });
  expect(finding.why).toContain("has not announced a removal");
  expect(finding.fix[0]).toContain("discovery.k8s.io/v1 EndpointSlice");
});

test("crd-old-version-stored: instances that are not in the storage version are named", async () => {
  const values = {
    ...SHOP,
    [CRD_KEY]: crd({ versions: [V1, V1BETA1] }, ["v1beta1", "v1"]),
    "shop.example/widgets/shop/a": widget("v1beta1"),
    "shop.example/widgets/shop/b": widget("v1"),
  };
  const finding = await found("crd-old-version-stored", values);
  expect(finding).toMatchObject({ severity: "warning", count: 1 });
  expect(finding.subjects).toEqual([{ name: "widgets.shop.example shop/a", detail: "stored as shop.example/v1beta1" }]);
});

test("crd-unserved-version-stored, crd-stored-versions-incomplete: both are reported for an unserved version", async () => {
  const values = {
    ...SHOP,
    [CRD_KEY]: crd({ versions: [V1, { ...V1BETA1, served: false }] }, ["v1"]),
    "shop.example/widgets/shop/a": widget("v1beta1"),
  };
  expect((await found("crd-unserved-version-stored", values)).severity).toBe("warning");
  const incomplete = await found("crd-stored-versions-incomplete", values);
  expect(incomplete.fix.at(-1)).toContain('{"status":{"storedVersions":["v1","v1beta1"]}}');
});

test("crd-version-removed: instances in a version that the CRD does not have are an error", async () => {
  const values = {
    ...SHOP,
    [CRD_KEY]: crd({ versions: [V1] }, ["v1"]),
    "shop.example/widgets/shop/a": widget("v1alpha1"),
  };
  expect(await found("crd-version-removed", values)).toMatchObject({ severity: "error", count: 1 });
});

test("crd-stored-version-droppable: a listed version without instances can be dropped", async () => {
  const values = { [CRD_KEY]: crd({ versions: [V1, V1BETA1] }, ["v1beta1", "v1"]) };
  const finding = await found("crd-stored-version-droppable", values);
  expect(finding.severity).toBe("info");
  expect(finding.fix.at(-1)).toContain('{"status":{"storedVersions":["v1"]}}');
});

test("crd-stored-version-droppable: nothing is droppable while an instance cannot be read", async () => {
  const values = {
    ...SHOP,
    [CRD_KEY]: crd({ versions: [V1, V1BETA1] }, ["v1beta1", "v1"]),
    "shop.example/widgets/shop/a": "broken",
  };
  expect(await idsOf(values)).not.toContain("crd-stored-version-droppable");
});

const CONVERSION = {
  strategy: "Webhook",
  webhook: { clientConfig: { service: { namespace: "shop", name: "converter" } } },
};

test("crd-conversion-service-missing: a webhook without its Service is an error", async () => {
  const values = { ...SHOP, [CRD_KEY]: crd({ versions: [V1, V1BETA1], conversion: CONVERSION }, ["v1"]) };
  const finding = await found("crd-conversion-service-missing", values);
  expect(finding).toMatchObject({ severity: "error" });
  expect(finding.title).toContain("shop/converter");
});

test("crd-conversion-webhook: a webhook that old instances need is a warning", async () => {
  const values = {
    ...SHOP,
    [CRD_KEY]: crd({ versions: [V1, V1BETA1], conversion: CONVERSION }, ["v1", "v1beta1"]),
    "services/specs/shop/converter": object("v1", "Service", { name: "converter" }),
    "shop.example/widgets/shop/a": widget("v1beta1"),
  };
  expect((await found("crd-conversion-webhook", values)).severity).toBe("warning");
});

test("crd-missing, keys-unknown: instances without a CRD and keys of no resource are reported", async () => {
  const values = { ...SHOP, "shop.example/widgets/shop/a": widget("v1"), "mystery/a": object("v1", "Mystery", {}) };
  expect(await found("crd-missing", values)).toMatchObject({ severity: "warning", count: 1 });
  const unknown = await found("keys-unknown", values);
  expect(unknown.subjects).toEqual([{ name: "/registry/mystery", detail: "1 key" }]);
});

test("crd-missing: nothing is reported while a CRD cannot be read", async () => {
  const values = { ...SHOP, "shop.example/widgets/shop/a": widget("v1"), [CRD_KEY]: "broken" };
  expect(await idsOf(values)).not.toContain("crd-missing");
});

test("namespace-terminating: its content and all finalizers are named", async () => {
  const namespace = object(
    "v1",
    "Namespace",
    { name: "shop", uid: "n", deletionTimestamp: "2026-01-01T00:00:00Z" },
    { spec: { finalizers: ["kubernetes"] } },
  );
  const values = {
    "namespaces/shop": protobuf(namespace),
    "configmaps/shop/a": protobuf(object("v1", "ConfigMap", { name: "a", finalizers: ["example.com/hold"] })),
  };
  const finding = await found("namespace-terminating", values);
  expect(finding).toMatchObject({ severity: "warning", count: 1 });
  expect(finding.subjects[0]?.detail).toBe(
    "left: 1 configmaps; finalizers: kubernetes; finalizers of objects: 1 example.com/hold",
  );
});

test("namespace-missing: the objects of a namespace that does not exist are named", async () => {
  const finding = await found("namespace-missing", { "configmaps/ghost/a": object("v1", "ConfigMap", { name: "a" }) });
  expect(finding).toMatchObject({ severity: "warning", count: 1 });
  expect(finding.subjects).toEqual([{ name: "configmaps ghost/a", detail: "namespace: ghost" }]);
});

const OWNER = { apiVersion: "v1", kind: "Secret", name: "s", uid: "s" };

test("owner-missing: a reference to a UID that no object has is reported", async () => {
  const child = object("v1", "ConfigMap", { name: "a", namespace: "shop", uid: "a", ownerReferences: [OWNER] });
  for (const value of [child, protobuf(child)]) {
    const finding = await found("owner-missing", { ...SHOP, "configmaps/shop/a": value });
    expect(finding).toMatchObject({ severity: "warning", count: 1 });
    expect(finding.subjects).toEqual([{ name: "configmaps shop/a", detail: "owner: Secret s" }]);
    const withOwner = { ...SHOP, "configmaps/shop/a": value, [SECRET_KEY]: protobuf(SECRET) };
    expect(await idsOf(withOwner)).not.toContain("owner-missing");
  }
});

test("owner-missing: an owner that may be one of the encrypted values is not reported", async () => {
  const child = object("v1", "ConfigMap", { name: "a", uid: "a", ownerReferences: [OWNER] });
  const values = { ...SHOP, "configmaps/shop/a": child, [SECRET_KEY]: "k8s:enc:aescbc:v1:key:xxxx" };
  expect(await idsOf(values)).not.toContain("owner-missing");
});

test("value-unreadable: each unreadable value is listed with its key and a reason", async () => {
  const whole = JSON.stringify(SECRET);
  const values = {
    ...SHOP,
    "secrets/shop/cut": whole.slice(0, -9),
    "secrets/shop/cut-protobuf": protobuf(SECRET).subarray(0, -4),
    "secrets/shop/garbage": `{"kind":"Secret","apiVersion":"v1","metadata":{},"data":{"a":"b"]}`,
    "secrets/shop/text": "marker",
    "secrets/shop/empty": "",
    "secrets/shop/untyped": "{}",
  };
  const inspection = await inspect(values);
  expect(inspection.unreadable.values).toEqual([
    { key: "/registry/secrets/shop/cut", reason: "the JSON value is truncated" },
    { key: "/registry/secrets/shop/cut-protobuf", reason: "the protobuf value is malformed or truncated" },
    { key: "/registry/secrets/shop/garbage", reason: "the JSON value is malformed" },
    { key: "/registry/secrets/shop/text", reason: "the value is neither protobuf nor a JSON object" },
    { key: "/registry/secrets/shop/empty", reason: "the value is empty" },
    { key: "/registry/secrets/shop/untyped", reason: "the value has no valid apiVersion or no kind" },
  ]);
  expect(inspection.findings.find(({ id }) => id === "value-unreadable")).toMatchObject({
    severity: "error",
    count: 6,
  });
});

test("encrypted-not-inspected: without a configuration, encrypted values are counted by provider and key", async () => {
  const values = { ...SHOP, [SECRET_KEY]: sealed(SECRET_KEY, "k1", protobuf(SECRET)) };
  const finding = await found("encrypted-not-inspected", values);
  expect(finding).toMatchObject({ severity: "info" });
  expect(finding.subjects).toEqual([{ name: "aesgcm:v1:k1", detail: "1 value of secrets" }]);
});

test("encryption-key-missing, encryption-key-wrong: values that the configuration does not decrypt are errors", async () => {
  const values = { ...SHOP, [SECRET_KEY]: sealed(SECRET_KEY, "k1", protobuf(SECRET)) };
  const other = { encryption: decryption(aesgcm("k2")) };
  expect((await found("encryption-key-missing", values, other)).severity).toBe("error");
  const wrong = { encryption: decryption(aesgcm("k1", Buffer.alloc(32, 2))) };
  expect((await found("encryption-key-wrong", values, wrong)).severity).toBe("error");
});

test("encryption-key-outdated, encryption-key-retirable: keys behind the first are reported by use", async () => {
  const values = { ...SHOP, [SECRET_KEY]: sealed(SECRET_KEY, "k1", protobuf(SECRET)) };
  const encryption = decryption(aesgcm("k3"), aesgcm("k2"), aesgcm("k1"));
  const inspection = await inspect(values, { encryption });
  const [outdated, retirable] = ["encryption-key-outdated", "encryption-key-retirable"].map((id) =>
    inspection.findings.find((finding) => finding.id === id),
  );
  expect(outdated?.subjects.map(({ name }) => name)).toEqual(["aesgcm:v1:k1"]);
  expect(retirable?.subjects.map(({ name }) => name)).toEqual(["aesgcm:v1:k2"]);
  expect(inspection.resources.find(({ resource }) => resource === "secrets")).toMatchObject({
    encodings: { json: 0, protobuf: 0, encrypted: 1 },
    versions: [{ apiVersion: "v1", objects: 1 }],
  });
});

test("kms-plugin-unavailable: values of a KMS plugin that does not respond are only counted", async () => {
  const kms = { kms: { apiVersion: "v2", name: "vault", endpoint: "unix:///run/kms.sock" } };
  const value = Buffer.concat([Buffer.from("k8s:enc:kms:v2:vault:"), Buffer.from([0x0a, 2, 1, 1, 0x12, 1, 0x61])]);
  const inspection = await inspect({ ...SHOP, [SECRET_KEY]: value }, { encryption: decryption(kms) });
  expect(inspection.encryption.keys).toMatchObject([
    { provider: "kms", key: "vault", values: 1, status: "no-response" },
  ]);
  expect(inspection.findings.map(({ id }) => id)).toContain("kms-plugin-unavailable");
});

test("value-in-clear, value-in-clear-rejected: values in clear are compared with the configuration", async () => {
  const values = { ...SHOP, [SECRET_KEY]: protobuf(SECRET) };
  const allowed = { encryption: decryption(aesgcm("k1"), { identity: {} }) };
  expect((await found("value-in-clear", values, allowed)).severity).toBe("warning");
  expect((await found("value-in-clear-rejected", values, { encryption: decryption(aesgcm("k1")) })).severity).toBe(
    "error",
  );
});

test("object-large: an object above 1 MiB is a warning", async () => {
  const value = protobuf(object("v1", "ConfigMap", { name: "a" }, { data: { a: "x".repeat(1_100_000) } }));
  const finding = await found("object-large", { ...SHOP, "configmaps/shop/a": value });
  expect(finding.subjects[0]?.name).toBe("configmaps shop/a");
});

test("api-servers-differ: the oldest server decides the release", async () => {
  const values = { ...apiServer("kube-apiserver-a", "v1.34.1"), ...apiServer("kube-apiserver-b", "v1.33.9") };
  const inspection = await inspect(values, { from: undefined });
  expect(inspection.from).toMatchObject({ release: "1.33", origin: "found" });
  expect(inspection.findings.map(({ id }) => id)).toContain("api-servers-differ");
});

test("flag-unknown: flags with which a hop does not start are errors before that hop", async () => {
  const values = apiServer(
    "kube-apiserver-a",
    "v1.33.1",
    "--runtime-config=resource.k8s.io/v1alpha3=true,api/beta=true",
    "--feature-gates=NoSuchGate=true",
  );
  const { findings } = await inspect(values, { from: undefined });
  const unknown = findings.filter(({ id }) => id === "flag-unknown");
  expect(unknown.flatMap(({ subjects }) => subjects.map(({ name }) => name))).toContain("--feature-gates=NoSuchGate");
  expect(unknown.every(({ severity }) => severity === "error")).toBe(true);
});

test("runtime-config-needed: API versions that only a flag enables are listed", async () => {
  const values = apiServer("kube-apiserver-a", "v1.33.1", "--runtime-config", "resource.k8s.io/v1beta2=true");
  const finding = await found("runtime-config-needed", values, { from: undefined });
  expect(finding.subjects).toEqual([{ name: "resource.k8s.io/v1beta2" }]);
});

test("kubelet-too-old: a kubelet that a hop does not support is an error before that hop", async () => {
  const node = object("v1", "Node", { name: "n" }, { status: { nodeInfo: { kubeletVersion: "v1.31.4" } } });
  const finding = await found("kubelet-too-old", { "minions/n": protobuf(node) });
  expect(finding).toMatchObject({ severity: "error", release: "1.35", subjects: [{ name: "nodes n" }] });
});

function lease(name: string, renewTime: string): JsonObject {
  const labels = { "apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": "host" };
  const spec = { holderIdentity: "h", leaseDurationSeconds: 3600, renewTime };
  return object("coordination.k8s.io/v1", "Lease", { name, namespace: "kube-system", uid: name, labels }, { spec });
}

function storageVersion(...servers: readonly (readonly [string, string])[]): JsonObject {
  const storageVersions = servers.map(([apiServerID, encodingVersion]) => ({ apiServerID, encodingVersion }));
  const metadata = { name: "apps.deployments" };
  return object("internal.apiserver.k8s.io/v1alpha1", "StorageVersion", metadata, {
    spec: {},
    status: { storageVersions },
  });
}

const SYSTEM = { "namespaces/kube-system": object("v1", "Namespace", { name: "kube-system", uid: "kube-system" }) };

test("identity-lease-expired: a lease is compared with the newest time in the data", async () => {
  const values = {
    ...SYSTEM,
    "leases/kube-system/apiserver-a": protobuf(lease("apiserver-a", "2026-01-01T10:00:00.000000Z")),
    "leases/kube-system/apiserver-b": protobuf(lease("apiserver-b", "2026-01-01T08:00:00.000000Z")),
  };
  const finding = await found("identity-lease-expired", values);
  expect(finding.severity).toBe("info");
  expect(finding.subjects.map(({ name }) => name)).toEqual(["leases.coordination.k8s.io kube-system/apiserver-b"]);
});

test("storage-version-disagreement, storage-version-of-departed-server: StorageVersions are compared with leases", async () => {
  const values = {
    ...SYSTEM,
    "leases/kube-system/apiserver-a": protobuf(lease("apiserver-a", "2026-01-01T10:00:00.000000Z")),
    "storageversions/apps.deployments": storageVersion(["apiserver-a", "apps/v1"], ["apiserver-z", "apps/v1beta1"]),
  };
  expect((await found("storage-version-disagreement", values)).severity).toBe("warning");
  const departed = await found("storage-version-of-departed-server", values);
  expect(departed.subjects[0]?.detail).toBe("apiserver-z");
});

test("data without problems has no finding, and is read once", async () => {
  const data = storedData({ ...SHOP, [SECRET_KEY]: protobuf(SECRET) });
  const options = { from: "1.33", to: ["1.36"], signal: new AbortController().signal, onProgress: () => {} } as const;
  expect((await inspectStoredData(data, options)).findings).toEqual([]);
  expect(data.walks).toBe(1);
});

test("no value of a Secret is part of an inspection, whatever state it is in", async () => {
  const marker = "bWFya2Vy";
  const applied = { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify(SECRET) };
  const annotated = { ...SECRET, metadata: { name: "t", namespace: "shop", uid: "t", annotations: applied } };
  const orphan = { ...annotated, metadata: { ...annotated.metadata, ownerReferences: [{ ...OWNER, uid: "gone" }] } };
  const whole = JSON.stringify(annotated);
  const values = {
    "namespaces/ghost": object("v1", "Namespace", { name: "ghost", deletionTimestamp: "2026-01-01T00:00:00Z" }),
    "secrets/shop/a": whole,
    "secrets/shop/b": protobuf(annotated),
    "secrets/shop/c": whole.slice(0, -5),
    "secrets/shop/d": `${marker}${whole}`,
    "secrets/shop/e": whole.replace('"metadata"', marker),
    "secrets/shop/f": `{"kind":"Secret","apiVersion":"v1","data":{"a":"${marker}`,
    "secrets/ghost/g": protobuf(orphan),
    "secrets/ghost/h": JSON.stringify(orphan),
    "secrets/ghost/i": sealed("secrets/ghost/i", "k1", protobuf(orphan)),
    "secrets/ghost/j": sealed("secrets/ghost/j", "k1", Buffer.from(whole.slice(0, -5))),
    "mystery/k": whole,
    [CRD_KEY]: `{"kind":"CustomResourceDefinition","apiVersion":"v1","metadata":{},"spec":{"a":tru"${marker}"}}`,
  };
  const encryption = decryption(aesgcm("k1"), { identity: {} });
  for (const options of [{}, { encryption }]) {
    const text = JSON.stringify(await inspect(values, options));
    expect(text).toContain("secrets ghost/g");
    expect(text).not.toContain(marker);
    expect(text).not.toContain(Buffer.from(marker, "base64").toString());
  }
});

test("a KMS plugin that responds decrypts the values, although it responds after the walk has moved on", async () => {
  const dataKey = Buffer.alloc(32, 9);
  const responding: OpenKmsPlugin = () => ({
    ...noPlugin({ socket: "", timeoutMs: 0 }, () => {}),
    decrypt: async () => {
      await Promise.resolve();
      return dataKey;
    },
  });
  const names = ["a", "b", "c"];
  const values = Object.fromEntries(
    names.map((name) => {
      const key = `secrets/shop/${name}`;
      const data = aesGcm(dataKey, random).encrypt(protobuf(SECRET), Buffer.from(`/registry/${key}`));
      const encrypted = { ciphertext: Buffer.from(`edek-${name}`), keyId: "id", annotations: new Map() };
      const value = encodeValue({ data, dataKey: encrypted, type: DATA_KEY_TYPE.aesGcmKey });
      return [key, Buffer.concat([Buffer.from("k8s:enc:kms:v2:vault:"), value])];
    }),
  );
  const kms = { kms: { apiVersion: "v2", name: "vault", endpoint: "unix:///run/kms.sock" } };
  const encryption = { ...decryption(kms), openPlugin: responding };
  const inspection = await inspect({ ...SHOP, ...values }, { encryption });
  expect(inspection.encryption.keys).toMatchObject([{ values: 3, status: "decrypted", isWriter: true }]);
  expect(inspection.read.objects).toBe(4);
});

test("the newest kubelet of k3s is the release of its servers", async () => {
  const node = object("v1", "Node", { name: "n" }, { status: { nodeInfo: { kubeletVersion: "v1.34.1+k3s1" } } });
  const inspection = await inspect({ "minions/n": protobuf(node) }, { from: undefined });
  expect(inspection.from).toMatchObject({ release: "1.34", origin: "found", atLeast: "1.34" });
});

test("the release of kubeadm-config is used if there is no mirror Pod", async () => {
  const data = { ClusterConfiguration: "kind: ClusterConfiguration\nkubernetesVersion: v1.33.4\n" };
  const config = object("v1", "ConfigMap", { name: "kubeadm-config" }, { data });
  const inspection = await inspect(
    { ...SYSTEM, "configmaps/kube-system/kubeadm-config": protobuf(config) },
    { from: undefined },
  );
  expect(inspection.from).toMatchObject({ release: "1.33", origin: "found" });
});

test("a given release that the data contradicts is the first evidence", async () => {
  const values = apiServer("kube-apiserver-a", "v1.33.4");
  expect((await inspect(values, { from: "1.35" })).from.evidence[0]).toBe("--from is 1.35, but the data shows 1.33");
});

test("without any evidence the release is unknown, and only the targets are considered", async () => {
  const inspection = await inspect(SHOP, { from: undefined, to: ["1.36"] });
  expect(inspection.from).toMatchObject({ origin: "unknown", evidence: [], candidates: [] });
  expect(inspection.hops).toEqual(["1.36"]);
});

test("a server that emulates an older release counts as that release, with hops from its binary on", async () => {
  const values = apiServer("kube-apiserver-a", "v1.35.1", "--emulated-version=1.33");
  const inspection = await inspect(values, { from: undefined, to: ["1.36"] });
  expect(inspection.from).toMatchObject({ release: "1.33", emulatedVersion: "1.33" });
  expect(inspection.hops).toEqual(["1.35", "1.36"]);
});

test("an inspection that is aborted rejects with the reason", async () => {
  const reason = new Error("stop");
  const inspecting = inspect(SHOP, { signal: AbortSignal.abort(reason) });
  await expect(inspecting).rejects.toBe(reason);
});
