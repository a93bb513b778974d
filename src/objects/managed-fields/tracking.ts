/** Declares the parts of a write that determine its managedFields, and the fields that are never tracked. */
import { isJsonObject, objectAt, type JsonObject } from "../../meta/json.ts";
import type { StructSchema } from "../schema.ts";
import type { AbsentFields } from "./absent-fields.ts";
import { FieldSet } from "./field-set.ts";
import type { FieldPath } from "./path-element.ts";

export interface VersionedObject {
  readonly object: JsonObject;
  readonly schema: StructSchema;
}

/** An object that another version cannot hold. */
export interface UnfitObject {
  /** Such as `.spec.color: field not declared in schema`. */
  readonly problem: string;
}

export function isUnfit(converted: VersionedObject | UnfitObject): converted is UnfitObject {
  return "problem" in converted;
}

export interface TrackedRequest {
  /** The stored object; undefined on create. */
  readonly live: JsonObject | undefined;
  readonly schema: StructSchema;
  /** The API version of the request. */
  readonly apiVersion: string;
  readonly manager: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** RFC 3339, whole seconds; undefined for writes through /scale. */
  readonly time: string | undefined;
  /** Paths that this endpoint cannot write, such as `["status"]`. */
  readonly resetFields?: readonly (readonly string[])[];
  /** `none` for custom resources; `zero` by default. */
  readonly absentFields?: AbsentFields;
  /**
   * Converts the object, which has no managedFields, to the version of an entry. Undefined if the version no longer
   * exists, which removes the entry; `unknown` if this server cannot tell, which keeps the entry unchanged. If the
   * version cannot hold the object, an apply is rejected, and another write removes the entry. Must not throw. Without
   * this function, entries of other versions are unchanged.
   */
  readonly inVersion?: (
    object: JsonObject,
    apiVersion: string,
  ) => VersionedObject | UnfitObject | "unknown" | undefined;
}

export function resetSet({ resetFields = [] }: Pick<TrackedRequest, "resetFields">): FieldSet {
  return FieldSet.of(...resetFields.map(namedPath));
}

function namedPath(names: readonly string[]): FieldPath {
  return names.map((name) => ({ kind: "field", name }));
}

/** Fields that identify the object or that the server maintains; `metadata` itself is not tracked either. */
export const NEVER_TRACKED: FieldSet = FieldSet.of(
  ...[
    ["apiVersion"],
    ["kind"],
    ["metadata"],
    ...[
      "name",
      "namespace",
      "creationTimestamp",
      "selfLink",
      "uid",
      "clusterName",
      "generation",
      "managedFields",
      "resourceVersion",
    ].map((name) => ["metadata", name]),
  ].map(namedPath),
);

export function managedFieldsOf(object: JsonObject): unknown {
  return objectAt(object, "metadata")["managedFields"];
}

export function withoutManagedFields(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isJsonObject(metadata) || metadata["managedFields"] === undefined) return object;
  const { managedFields: _managedFields, ...others } = metadata;
  return { ...object, metadata: others };
}
