/**
 * The few objects that an inspection decodes completely: CRDs, Nodes, namespaces that are being deleted, the objects in
 * which API servers announce themselves, and those that show the release of the cluster.
 */
import { protobufTables } from "../../../../objects/catalog/protobuf-tables.ts";
import { decodeProtobufObject, isProtobufEnvelope, ProtobufDecodeError } from "../../../../objects/protobuf/decode.ts";
import { isJsonObject, type JsonObject } from "../../../../meta/json.ts";
import type { LocatedKey } from "./resource-stats.ts";

export interface SpecialObjects {
  readonly crds: JsonObject[];
  readonly nodes: JsonObject[];
  readonly apiServerPods: JsonObject[];
  readonly kubeadmConfigs: JsonObject[];
  readonly identityLeases: JsonObject[];
  readonly storageVersions: JsonObject[];
  readonly apiServices: JsonObject[];
  /** Those that have a deletion timestamp. */
  readonly namespaces: JsonObject[];
  /** Objects of these kinds beyond the limits, which are not considered. */
  readonly dropped: Map<keyof typeof LIMITS, number>;
  /** Objects of these kinds whose metadata can be read, but not their content. */
  readonly undecodable: string[];
}

const LIMITS = {
  crds: 5_000,
  nodes: 20_000,
  apiServerPods: 100,
  kubeadmConfigs: 1,
  identityLeases: 1_000,
  storageVersions: 5_000,
  apiServices: 5_000,
  namespaces: 1_000,
} as const;

const UNDECODABLE_MAX = 100;
const IDENTITY_LABEL = "apiserver.kubernetes.io/identity";

export function createSpecialObjects(): SpecialObjects {
  return {
    crds: [],
    nodes: [],
    apiServerPods: [],
    kubeadmConfigs: [],
    identityLeases: [],
    storageVersions: [],
    apiServices: [],
    namespaces: [],
    dropped: new Map(),
    undecodable: [],
  };
}

/** Keeps the object if it is one of these. `value` is in clear. */
export function collectSpecial(
  objects: SpecialObjects,
  located: LocatedKey,
  { value, isDeleting }: { readonly value: Buffer; readonly isDeleting: boolean },
): void {
  const list = listOf(located, isDeleting);
  if (list === undefined) return;
  if (objects[list].length >= LIMITS[list]) {
    objects.dropped.set(list, (objects.dropped.get(list) ?? 0) + 1);
    return;
  }
  const object = decodedObject(value);
  if (object === undefined) {
    if (objects.undecodable.length < UNDECODABLE_MAX) objects.undecodable.push(located.name);
    return;
  }
  objects[list].push(SLIM[list]?.(object) ?? object);
}

/** Nodes and API server Pods are large and may be many, so only the used parts are kept. */
const SLIM: { readonly [List in keyof typeof LIMITS]?: (object: JsonObject) => JsonObject } = {
  nodes: ({ metadata, status }) => ({
    metadata: { name: fieldOf(metadata, "name") },
    status: { nodeInfo: fieldOf(status, "nodeInfo") },
  }),
  crds: ({ metadata, spec, status }) => ({
    metadata: { name: fieldOf(metadata, "name") },
    spec: withoutSchemas(spec),
    status: { storedVersions: fieldOf(status, "storedVersions") },
  }),
};

function withoutSchemas(spec: unknown): unknown {
  if (!isJsonObject(spec)) return undefined;
  const { versions, validation: _validation, ...rest } = spec;
  const slim = Array.isArray(versions)
    ? versions.map((version: unknown) => {
        if (!isJsonObject(version)) return undefined;
        const { name, served, storage, deprecated } = version;
        return { name, served, storage, deprecated };
      })
    : undefined;
  return { ...rest, versions: slim };
}

function fieldOf(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}

function listOf({ stat, namespace, name }: LocatedKey, isDeleting: boolean): keyof typeof LIMITS | undefined {
  const { place } = stat;
  if (place === undefined) return undefined;
  const isSystem = namespace === "kube-system";
  switch (`${place.group}/${place.resource}`) {
    case "apiextensions.k8s.io/customresourcedefinitions":
      return "crds";
    case "/nodes":
      return "nodes";
    case "/namespaces":
      return isDeleting ? "namespaces" : undefined;
    case "/pods":
      return isSystem && name.startsWith("kube-apiserver") ? "apiServerPods" : undefined;
    case "/configmaps":
      return isSystem && name === "kubeadm-config" ? "kubeadmConfigs" : undefined;
    case "coordination.k8s.io/leases":
      return isSystem ? "identityLeases" : undefined;
    case "internal.apiserver.k8s.io/storageversions":
      return "storageVersions";
    case "apiregistration.k8s.io/apiservices":
      return "apiServices";
    default:
      return undefined;
  }
}

/** Leases in kube-system that have other purposes, such as leader election, are left out. */
export function isIdentityLease(lease: JsonObject): boolean {
  const labels = fieldOf(lease["metadata"], "labels");
  return fieldOf(labels, IDENTITY_LABEL) === "kube-apiserver";
}

/** Undefined if the value cannot be decoded. */
export function decodedObject(value: Buffer): JsonObject | undefined {
  try {
    if (isProtobufEnvelope(value)) return decodeProtobufObject(value, protobufTables());
    const parsed: unknown = JSON.parse(value.toString("utf8"));
    return isJsonObject(parsed) ? parsed : undefined;
  } catch (thrown) {
    // The message of a SyntaxError quotes the value, so it is dropped.
    if (thrown instanceof SyntaxError || thrown instanceof ProtobufDecodeError) return undefined;
    throw thrown;
  }
}
