/** Custom resource definitions for tests: as API objects, and as the server parses them. */
import type { JsonObject } from "../../../../src/meta/json.ts";
import { parseCrd, type Crd } from "../../../../src/extensions/crd/crd.ts";

export function definitionObject(spec: JsonObject = {}, status: JsonObject = {}): JsonObject {
  const names: JsonObject = { plural: "widgets", kind: "Widget", ...(spec["names"] as JsonObject | undefined) };
  const group = spec["group"] ?? "test.example.com";
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${String(names["plural"])}.${String(group)}`, uid: "u", resourceVersion: "1", generation: 1 },
    spec: { group, scope: "Namespaced", versions: [storedVersion("v1")], ...spec, names },
    status,
  };
}

export function storedVersion(name: string, more: JsonObject = {}): JsonObject {
  return { name, served: true, storage: true, ...more };
}

export function servedVersion(name: string, more: JsonObject = {}): JsonObject {
  return { name, served: true, storage: false, ...more };
}

/** A status with all names accepted and the condition Established. */
export function establishedStatus(names: JsonObject = {}): JsonObject {
  const acceptedNames = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList", ...names };
  const conditions = ["NamesAccepted", "Established"].map((type) => ({ type, status: "True" }));
  return { acceptedNames, conditions, storedVersions: ["v1"] };
}

export function establishedDefinition(spec: JsonObject = {}, names: JsonObject = {}): Crd {
  const all = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList", ...names };
  return parseCrd(definitionObject({ ...spec, names: all }, establishedStatus(all)));
}
