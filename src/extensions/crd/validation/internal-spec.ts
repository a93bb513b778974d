/**
 * Converts the spec of a CRD to the form of kubernetes' internal type, which error messages refer to. If all versions
 * have the same value in one of the fields in PER_VERSION, this form has the value once, beside the list of versions,
 * as v1beta1 does.
 */
import { isJsonObject, jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";

export interface InternalSpec {
  readonly spec: JsonObject;
  /** The versions, without the fields that are in `common`. */
  readonly versions: readonly JsonObject[];
  /** Name of the first version; "" if there is none. */
  readonly version: string;
  /** The fields of PER_VERSION in which all versions are equal. */
  readonly common: JsonObject;
  readonly preservesUnknownFields: boolean;
}

const PER_VERSION = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"] as const;

export function internalSpec(spec: JsonObject): InternalSpec {
  const versions = objectsAt(spec, "versions");
  const [first] = versions;
  const common: JsonObject = {};
  for (const key of PER_VERSION)
    if (first?.[key] !== undefined && versions.every((version) => jsonEquals(version[key], first[key])))
      common[key] = first[key];
  return {
    spec,
    versions: versions.map((version) => without(version, common)),
    version: first === undefined ? "" : stringAt(first, "name"),
    common,
    preservesUnknownFields: spec["preserveUnknownFields"] === true,
  };
}

function without(version: JsonObject, common: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(version).filter(([key]) => !Object.hasOwn(common, key)));
}

/** The schema of a version, or of `common`. */
export function openApiSchema(holder: JsonObject): JsonObject | undefined {
  const { openAPIV3Schema } = objectAt(holder, "schema");
  return isJsonObject(openAPIV3Schema) ? openAPIV3Schema : undefined;
}

/** The schema in `common`, or else those of the versions. Equal schemas appear once only if all versions are equal. */
export function schemasOf({ common, versions }: InternalSpec): JsonObject[] {
  return [common, ...versions].map(openApiSchema).filter((schema) => schema !== undefined);
}

export function hasStatus(holder: JsonObject): boolean {
  return isJsonObject(objectAt(holder, "subresources")["status"]);
}
