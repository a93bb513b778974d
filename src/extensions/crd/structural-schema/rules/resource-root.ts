/**
 * Adds apiVersion, kind and metadata to the schema of a resource for CEL rules, whether or not the schema specifies
 * them.
 */
import { NO_DEMANDS } from "../parse.ts";
import type { StructuralSchema } from "../schema.ts";

const STRING_SCHEMA: StructuralSchema = {
  type: "string",
  nullable: false,
  default: undefined,
  properties: new Map(),
  additionalProperties: undefined,
  items: undefined,
  preserveUnknown: false,
  embeddedResource: false,
  intOrString: false,
  listType: undefined,
  listMapKeys: [],
  mapType: undefined,
  rules: [],
  value: NO_DEMANDS,
};

const METADATA_SCHEMA: StructuralSchema = {
  ...STRING_SCHEMA,
  type: "object",
  properties: new Map([
    ["name", STRING_SCHEMA],
    ["generateName", STRING_SCHEMA],
  ]),
};

/**
 * Rules can use only name and generateName of the metadata, unless the schema itself specifies all the fields checked
 * here.
 */
export function withTypeAndObjectMeta(schema: StructuralSchema): StructuralSchema {
  const { properties } = schema;
  if (typeof schema.additionalProperties === "object") return schema;
  const metadata = properties.get("metadata");
  const isComplete =
    properties.get("kind")?.type === "string" &&
    properties.get("apiVersion")?.type === "string" &&
    metadata?.type === "object" &&
    metadata.properties.get("name")?.type === "string" &&
    metadata.properties.get("generateName")?.type === "string";
  if (isComplete) return schema;
  return {
    ...schema,
    items: undefined,
    properties: new Map([
      ...properties,
      ["kind", STRING_SCHEMA],
      ["apiVersion", STRING_SCHEMA],
      ["metadata", METADATA_SCHEMA],
    ]),
  };
}
