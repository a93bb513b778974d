/** What an object is taken to say when it says nothing: filled in right after decoding, so that the writer owns it. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../meta/json.ts";
import type { ServedResource } from "./resource.ts";
import { serviceDefaults } from "./services/service-defaults.ts";

export function withDefaults(served: ServedResource, object: JsonObject): JsonObject {
  if (served.groupVersion.group === "apps") return workloadDefaults(served.kind, object);
  if (served.groupVersion.group !== "") return object;
  if (served.kind === "Secret") return secretDefaults(object);
  if (served.kind === "Service") return serviceDefaults(object);
  return served.kind === "Namespace" ? namespaceDefaults(object) : object;
}

/** stringData is a write-only convenience; a secret without a type is opaque. */
function secretDefaults(object: JsonObject): JsonObject {
  const given = objectAt(object, "stringData");
  const { stringData: _stringData, ...secret } = object;
  const encoded = Object.keys(given).map((key): [string, string] => [
    key,
    Buffer.from(String(given[key])).toString("base64"),
  ]);
  const data = encoded.length === 0 ? {} : { data: { ...objectAt(secret, "data"), ...Object.fromEntries(encoded) } };
  return { ...secret, ...data, type: stringAt(secret, "type") === "" ? "Opaque" : secret["type"] };
}

/** Selectors find a namespace by its name. */
function namespaceDefaults(namespace: JsonObject): JsonObject {
  const metadata = objectAt(namespace, "metadata");
  const name = stringAt(metadata, "name");
  if (name === "") return namespace;
  return {
    ...namespace,
    metadata: { ...metadata, labels: { ...objectAt(metadata, "labels"), "kubernetes.io/metadata.name": name } },
  };
}

const SCALED: ReadonlySet<string> = new Set(["Deployment", "ReplicaSet", "StatefulSet"]);

/** Clients count on a number of replicas; some fall over without one. */
function workloadDefaults(kind: string, workload: JsonObject): JsonObject {
  if (!SCALED.has(kind)) return workload;
  const spec = objectAt(workload, "spec");
  const scaled = spec["replicas"] === undefined ? { ...workload, spec: { ...spec, replicas: 1 } } : workload;
  return kind === "StatefulSet" ? withClaimKinds(scaled) : scaled;
}

/** The claims in a stateful set say what they are; protobuf has no room for it. */
export function withClaimKinds(statefulSet: JsonObject): JsonObject {
  const spec = objectAt(statefulSet, "spec");
  const templates = spec["volumeClaimTemplates"];
  if (!Array.isArray(templates) || templates.length === 0) return statefulSet;
  const named = templates.map((template: unknown) => {
    if (!isJsonObject(template)) return template;
    const { kind = "PersistentVolumeClaim", apiVersion = "v1", ...claim } = template;
    return { kind, apiVersion, ...claim };
  });
  return { ...statefulSet, spec: { ...spec, volumeClaimTemplates: named } };
}
