/**
 * Writes a snapshot as a large cluster leaves it: pods in protobuf, ConfigMaps in JSON, and leases with the history
 * since the last compaction. The objects of a kind differ in their names only, so that writing takes seconds.
 */
import type { JsonObject } from "../../src/meta/json.ts";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { envelopeHead, ProtobufEncoder, type TypeMeta } from "../../src/objects/protobuf/encode.ts";
import { writeEtcdFile, type StoredChange } from "../../test/testing/storage/etcd-file/etcd-writer.ts";
import { NUMBER_MARK, podText } from "../objects.ts";

/** Shares of the keys. The rest are pods. */
const CONFIG_MAP_SHARE = 0.3;
const LEASE_SHARE = 0.01;
/** Writes of each lease since the last compaction. */
const LEASE_WRITES = 20;
const NAMESPACE = "bench";
const CONFIG_MAP_BYTES = 1_700;

/** `keys` counts the namespace, too. */
export function writeSyntheticSnapshot(path: string, keys: number): void {
  writeEtcdFile(path, changesOf(keys));
}

function* changesOf(keys: number): Generator<StoredChange> {
  const namespace = namespaceValue();
  yield { ...created("/registry/namespaces/bench", namespace, 2), subRevision: 0 };
  let revision = 2;
  const leases = Math.floor(keys * LEASE_SHARE);
  const configMaps = Math.floor(keys * CONFIG_MAP_SHARE);
  for (const [resource, template, count] of [
    ["configmaps", configMapTemplate(), configMaps],
    ["pods", protobufTemplate(podObject(), { apiVersion: "v1", kind: "Pod" }), keys - 1 - leases - configMaps],
  ] as const) {
    for (let index = 0; index < count; index++) {
      yield created(`/registry/${resource}/${NAMESPACE}/${nameOf(index)}`, template(index), ++revision);
    }
  }
  yield* leaseChanges(leases, revision);
}

/** Each lease is renewed in turn, so that the writes of a lease are far apart in the file. */
function* leaseChanges(leases: number, lastRevision: number): Generator<StoredChange> {
  const lease = protobufTemplate(leaseObject(), { apiVersion: "coordination.k8s.io/v1", kind: "Lease" });
  for (let write = 0; write < LEASE_WRITES; write++) {
    for (let index = 0; index < leases; index++) {
      const key = `/registry/leases/${NAMESPACE}/${nameOf(index)}`;
      const createRevision = lastRevision + 1 + index;
      const revision = createRevision + write * leases;
      yield { key, value: lease(index), revision, subRevision: 0, createRevision, version: write + 1 };
    }
  }
}

function created(key: string, value: Buffer, revision: number): StoredChange {
  return { key, value, revision, subRevision: 0, createRevision: revision, version: 1 };
}

function nameOf(index: number): string {
  return `object-${numberOf(index)}`;
}

/** As long as the mark in the templates, so that no length in an encoded object changes. */
function numberOf(index: number): string {
  return String(index).padStart(NUMBER_MARK.length, "0");
}

type Template = (index: number) => Buffer;

function protobufTemplate(object: JsonObject, type: TypeMeta): Template {
  const encoder = new ProtobufEncoder(protobufTables());
  return templateOf(Buffer.concat([envelopeHead(type), encoder.member(object, type)]));
}

/** A function that returns the bytes with the number of the object in place of each mark. */
function templateOf(bytes: Buffer): Template {
  const marks: number[] = [];
  for (let at = bytes.indexOf(NUMBER_MARK); at >= 0; at = bytes.indexOf(NUMBER_MARK, at + 1)) marks.push(at);
  return (index) => {
    const value = Buffer.from(bytes);
    for (const at of marks) value.write(numberOf(index), at, "latin1");
    return value;
  };
}

function metadataOf(apiVersion: string): JsonObject {
  return {
    name: `object-${NUMBER_MARK}`,
    namespace: NAMESPACE,
    uid: `00000000-0000-4000-8000-0000${NUMBER_MARK}`,
    creationTimestamp: "2026-01-02T03:04:05Z",
    managedFields: [
      {
        manager: "kubectl-client-side-apply",
        operation: "Update",
        apiVersion,
        time: "2026-01-02T03:04:05Z",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:metadata": { "f:labels": { ".": {}, "f:app": {} } }, "f:data": { ".": {}, "f:payload": {} } },
      },
    ],
  };
}

function podObject(): JsonObject {
  const pod = JSON.parse(podText(NAMESPACE)) as JsonObject & { readonly metadata: JsonObject };
  // Without the annotation that fills the pods of other rows, two pods share a page.
  const { annotations: _annotations, ...metadata } = pod.metadata;
  return { ...pod, metadata: { ...metadata, ...metadataOf("v1") }, status: { phase: "Running" } };
}

function leaseObject(): JsonObject {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: metadataOf("coordination.k8s.io/v1"),
    spec: { holderIdentity: `node-${NUMBER_MARK}`, leaseDurationSeconds: 40 },
  };
}

function configMapTemplate(): Template {
  const data = { payload: "x".repeat(CONFIG_MAP_BYTES) };
  return templateOf(
    Buffer.from(`${JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata: metadataOf("v1"), data })}\n`),
  );
}

function namespaceValue(): Buffer {
  const object = {
    kind: "Namespace",
    apiVersion: "v1",
    metadata: {
      name: NAMESPACE,
      uid: "00000000-0000-4000-8000-000000000000",
      creationTimestamp: "2026-01-02T03:04:05Z",
    },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  };
  return protobufTemplate(object, { apiVersion: "v1", kind: "Namespace" })(0);
}
