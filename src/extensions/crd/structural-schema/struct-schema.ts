/**
 * Converts a structural schema to the form that server-side apply and managed fields use. It defines which lists and
 * maps field managers own element by element.
 */
import { DEDUCED } from "../../../objects/managed-fields/shape.ts";
import type { FieldSchema, StructSchema } from "../../../objects/schema.ts";
import type { StructuralSchema } from "./schema.ts";

interface StructNames {
  /** OpenAPI model name of the kind. */
  readonly name: string;
  /** The schema of ObjectMeta. */
  readonly metadata: StructSchema;
}

const TEXT: FieldSchema = Object.freeze({ ...DEDUCED, type: "string", preserveUnknown: false });

export function toStructSchema(schema: StructuralSchema, { name, metadata }: StructNames): StructSchema {
  const isOpen = schema.preserveUnknown || schema.additionalProperties !== undefined;
  return new CustomStruct({ name, metadata, schema, isResource: true, isOpen });
}

interface StructParts {
  readonly name: string;
  readonly metadata: StructSchema;
  readonly schema: StructuralSchema;
  readonly isResource: boolean;
  /** Whether unknown fields are preserved in this struct, and therefore in everything below it. */
  readonly isOpen: boolean;
}

class CustomStruct implements StructSchema {
  readonly name: string;
  readonly mapType: StructSchema["mapType"];
  readonly preserveUnknown: boolean;
  readonly isCustom = true;
  readonly #parts: StructParts;
  #fields: ReadonlyMap<string, FieldSchema> | undefined;

  constructor(parts: StructParts) {
    this.name = parts.name;
    this.mapType = parts.schema.mapType;
    this.preserveUnknown = parts.isOpen;
    this.#parts = parts;
  }

  get fields(): ReadonlyMap<string, FieldSchema> {
    this.#fields ??= structFields(this.#parts);
    return this.#fields;
  }
}

function structFields({ schema, metadata, isResource, isOpen }: StructParts): ReadonlyMap<string, FieldSchema> {
  const fields = new Map<string, FieldSchema>();
  const required = new Set(schema.value.required);
  for (const [name, property] of schema.properties)
    fields.set(name, fieldSchema(property, { metadata, isOpen, required: required.has(name) }));
  if (isResource) {
    fields.set("apiVersion", TEXT);
    fields.set("kind", TEXT);
    fields.set("metadata", { ...DEDUCED, type: "struct", struct: metadata, preserveUnknown: false });
  }
  return fields;
}

interface Surroundings {
  readonly metadata: StructSchema;
  readonly isOpen: boolean;
  readonly required: boolean;
}

function fieldSchema(schema: StructuralSchema, surroundings: Surroundings): FieldSchema {
  const isOpen = surroundings.isOpen || schema.preserveUnknown;
  const shared: FieldSchema = {
    ...DEDUCED,
    format: schema.value.format,
    required: surroundings.required,
    default: schema.default,
    enum: stringsOf(schema.value.enum),
    embeddedResource: schema.embeddedResource,
    preserveUnknown: isOpen,
  };
  if (schema.intOrString) return { ...shared, type: "string", format: "int-or-string", intOrString: true };
  switch (schema.type) {
    case "array":
      return listField(schema, shared, surroundings.metadata);
    case "object":
      return objectField(schema, shared, surroundings.metadata);
    case "":
      return hasMembers(schema) ? objectField(schema, shared, surroundings.metadata) : { ...shared, type: "any" };
    default:
      return { ...shared, type: schema.type };
  }
}

function listField(schema: StructuralSchema, shared: FieldSchema, metadata: StructSchema): FieldSchema {
  const { items, listType, listMapKeys } = schema;
  const surroundings = { metadata, isOpen: shared.preserveUnknown, required: false };
  return {
    ...shared,
    type: "array",
    items: items === undefined ? DEDUCED : fieldSchema(items, surroundings),
    listType,
    listMapKeys: listMapKeys.length === 0 ? undefined : listMapKeys,
  };
}

function objectField(schema: StructuralSchema, shared: FieldSchema, metadata: StructSchema): FieldSchema {
  const { additionalProperties, mapType, embeddedResource } = schema;
  const isOpen = shared.preserveUnknown;
  if (hasMembers(schema)) {
    const struct = new CustomStruct({ name: "", metadata, schema, isResource: embeddedResource, isOpen });
    return { ...shared, type: "struct", struct, mapType };
  }
  const values = typeof additionalProperties === "object" ? additionalProperties : undefined;
  const items = values === undefined ? DEDUCED : fieldSchema(values, { metadata, isOpen, required: false });
  return { ...shared, type: "map", items, mapType };
}

function hasMembers({ properties, embeddedResource }: StructuralSchema): boolean {
  return properties.size > 0 || embeddedResource;
}

function stringsOf(values: readonly unknown[] | undefined): readonly string[] | undefined {
  const strings = values?.filter((value) => typeof value === "string");
  return strings === undefined || strings.length === 0 ? undefined : strings;
}
