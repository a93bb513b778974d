/**
 * The custom resources of a user's cluster as targets of the clients. Clients create the smallest objects that the
 * schema of each version admits; if a server rejects them nevertheless, they only read.
 */
import { isJsonObject, objectAt, objectsAt, specOf, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { isServed } from "./seed.ts";
import type { LoadTarget } from "./targets.ts";

/** Schemas are hostile: their depth and the number of their members are not limited otherwise. */
const DEPTH_MAX = 12;

export function customTargets(
  crds: readonly JsonObject[],
  weightOf: (group: string, resource: string) => number,
): LoadTarget[] {
  return crds.flatMap((crd) => {
    const spec = specOf(crd);
    const names = objectAt(spec, "names");
    const [group, resource] = [stringAt(spec, "group"), stringAt(names, "plural")];
    const versions = objectsAt(spec, "versions").filter(isServed);
    if (group === "" || resource === "" || versions.length === 0) return [];
    return {
      group,
      resource,
      kind: stringAt(names, "kind"),
      namespaced: stringAt(spec, "scope") === "Namespaced",
      storagePrefix: `${group}/${resource}`,
      versions: versions.map((version) => stringAt(version, "name")),
      use: "all",
      bodies: new Map(versions.map((version) => [stringAt(version, "name"), bodyOf(version)])),
      weight: weightOf(group, resource),
      isCustom: true,
    };
  });
}

function bodyOf(version: JsonObject): JsonObject {
  const schema = objectAt(objectAt(version, "schema"), "openAPIV3Schema");
  // Objects of users have a spec, even if the schema does not require it.
  const body = objectOf({ ...schema, required: [...stringsAt(schema, "required"), "spec"] }, 0);
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, status: _status, ...rest } = body;
  return rest;
}

/** A value with the required members only. */
function exampleOf(schema: JsonObject, depth: number): unknown {
  if (schema["default"] !== undefined) return schema["default"];
  const [first] = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : [];
  if (first !== undefined) return first;
  switch (schema["type"]) {
    case "string":
      return "a".repeat(Math.min(1_000, Math.max(1, numberOr(schema["minLength"], 1))));
    case "integer":
    case "number":
      return Math.max(numberOr(schema["minimum"], 1), Math.min(1, numberOr(schema["maximum"], 1)));
    case "boolean":
      return true;
    case "array":
      return depth > DEPTH_MAX || numberOr(schema["minItems"], 0) === 0
        ? []
        : [exampleOf(objectAt(schema, "items"), depth + 1)];
    default:
      return objectOf(schema, depth);
  }
}

function objectOf(schema: JsonObject, depth: number): JsonObject {
  if (depth > DEPTH_MAX) return {};
  const properties = objectAt(schema, "properties");
  const required = stringsAt(schema, "required").filter((name) => isJsonObject(properties[name]));
  return Object.fromEntries(required.map((name) => [name, exampleOf(objectAt(properties, name), depth + 1)]));
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : otherwise;
}
