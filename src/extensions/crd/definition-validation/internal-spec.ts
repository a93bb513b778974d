/**
 * The spec as kubernetes looks at it: what all versions have in common stands beside them, as it did when there was
 * only one version, and that is where messages say it is.
 */
import { isJsonObject, jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";

export interface InternalSpec {
  readonly spec: JsonObject;
  /** Without what stands beside them. */
  readonly versions: readonly JsonObject[];
  /** Of the first version; "" when there is none. */
  readonly version: string;
  /** What the versions have in common; absent where they differ. */
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

/** The schema of a version, or the common one. */
export function openApiSchema(holder: JsonObject): JsonObject | undefined {
  const { openAPIV3Schema } = objectAt(holder, "schema");
  return isJsonObject(openAPIV3Schema) ? openAPIV3Schema : undefined;
}

/** Every schema that objects of the definition are held against, each once. */
export function schemasOf({ common, versions }: InternalSpec): JsonObject[] {
  return [common, ...versions].map(openApiSchema).filter((schema) => schema !== undefined);
}

export function hasStatus(holder: JsonObject): boolean {
  return isJsonObject(objectAt(holder, "subresources")["status"]);
}
