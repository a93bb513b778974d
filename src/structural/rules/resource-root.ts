/** What every resource has, whether its schema says so or not. */
import type { StructuralSchema, ValueValidation } from "../schema.ts";

const NOTHING_DEMANDED: ValueValidation = {
  format: undefined,
  maximum: undefined,
  exclusiveMaximum: false,
  minimum: undefined,
  exclusiveMinimum: false,
  maxLength: undefined,
  minLength: undefined,
  pattern: undefined,
  maxItems: undefined,
  minItems: undefined,
  uniqueItems: false,
  multipleOf: undefined,
  enum: undefined,
  maxProperties: undefined,
  minProperties: undefined,
  required: [],
  allOf: [],
  anyOf: [],
  oneOf: [],
  not: undefined,
};

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
  value: NOTHING_DEMANDED,
};

const METADATA_SCHEMA: StructuralSchema = {
  ...STRING_SCHEMA,
  type: "object",
  properties: new Map([
    ["name", STRING_SCHEMA],
    ["generateName", STRING_SCHEMA],
  ]),
};

/** Of metadata only the names can be seen, unless the schema describes both itself. */
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
