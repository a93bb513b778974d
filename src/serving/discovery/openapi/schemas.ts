/** Converts the schemas of the catalog to OpenAPI 2 or 3. */
import { modelName, type ModelKind } from "../../../objects/catalog/schema-source.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../../../objects/schema.ts";
import { modelPointer } from "./custom.ts";

export type Dialect = "v2" | "v3";

/** A model with a definition of its own, such as the schema of a custom resource, instead of one from the catalog. */
export interface PublishedModel {
  readonly name: string;
  definition(dialect: Dialect): JsonObject;
}

export type Model = StructSchema | PublishedModel;

/** Models of values that can have any JSON type. Other values that preserve unknown fields are objects. */
const RAW_JSON = /\.apiextensions\.v1\.JSON(?:SchemaPropsOr[A-Za-z]+)?$/;

interface SchemaOptions {
  readonly dialect: Dialect;
  /** The kinds that the definition of a model lists. */
  readonly kindsOf: (modelName: string) => readonly ModelKind[];
  /** The types whose zero value is stated as the default of list items and map values. */
  readonly zeros: "none" | "structs-and-plain" | "all";
  /** Descriptions of fields, keyed by "model.field". */
  readonly descriptions: ReadonlyMap<string, string>;
}

/** Collects the definitions of all models to which a document refers, keyed by model name. */
export class SchemaCollector {
  readonly #options: SchemaOptions;
  readonly #dialect: Dialect;
  readonly #names = new Set<string>();
  readonly #pending: Model[] = [];
  readonly #built: (readonly [name: string, definition: JsonObject])[] = [];

  constructor(options: SchemaOptions) {
    this.#options = options;
    this.#dialect = options.dialect;
  }

  /**
   * Returns a reference to the model and adds its definition to `definitions()`. If two models have the same name, the
   * first one is used.
   */
  reference(model: Model): JsonObject {
    if (!this.#names.has(model.name)) {
      this.#names.add(model.name);
      this.#pending.push(model);
    }
    return { $ref: this.#pointer(model.name) };
  }

  /** The schema of the content of a response. */
  schemaOf(content: Model | "string"): JsonObject {
    return content === "string" ? { type: "string" } : this.reference(content);
  }

  /** The definitions of all models referred to so far, directly or indirectly, sorted by name. */
  definitions(): JsonObject {
    return Object.fromEntries([...this.drain()].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  /** Builds the definitions one by one, so that a caller can do something else in between. */
  *drain(): Generator<readonly [name: string, definition: JsonObject]> {
    for (let position = 0; position < this.#built.length || this.#pending.length > 0; position++) {
      const model = position < this.#built.length ? undefined : this.#pending.pop();
      if (model !== undefined) this.#build(model);
      const next = this.#built[position];
      if (next !== undefined) yield next;
    }
  }

  /**
   * Builds the definitions of all models referred to so far, directly or indirectly. Models that are added later cannot
   * replace them.
   */
  settle(): void {
    for (let model = this.#pending.pop(); model !== undefined; model = this.#pending.pop()) this.#build(model);
  }

  #build(model: Model): void {
    const definition = "definition" in model ? model.definition(this.#dialect) : this.#structDefinition(model);
    this.#built.push([model.name, definition]);
  }

  #structDefinition(struct: StructSchema): JsonObject {
    const properties: JsonObject = {};
    const required: string[] = [];
    for (const [name, field] of struct.fields) {
      properties[name] = this.#described(`${struct.name}.${name}`, this.#field(field));
      if (field.required) required.push(name);
    }
    const kinds = this.#options.kindsOf(struct.name);
    return {
      type: "object",
      ...(required.length === 0 ? {} : { required }),
      ...(struct.fields.size === 0 ? {} : { properties }),
      ...(kinds.length === 0 ? {} : { "x-kubernetes-group-version-kind": kinds }),
      ...(struct.mapType === undefined ? {} : { "x-kubernetes-map-type": struct.mapType }),
      ...(struct.unions === undefined ? {} : { "x-kubernetes-unions": struct.unions }),
    };
  }

  #described(name: string, schema: JsonObject): JsonObject {
    const description = this.#options.descriptions.get(name);
    if (description === undefined) return schema;
    return { description, ...(this.#dialect === "v3" && Object.hasOwn(schema, "$ref") ? { allOf: [schema] } : schema) };
  }

  #field(field: FieldSchema): JsonObject {
    const name = modelName(field);
    const extensions = extensionsOf(field);
    if (field.struct !== undefined) return this.#referenceWith(this.reference(field.struct), field, extensions);
    if (name !== undefined) return this.#referenceWith(this.#scalarReference(name, field), field, extensions);
    return { ...this.#plainType(field), ...this.#defaultOf(field), ...extensions };
  }

  /**
   * OpenAPI 2 and 3.0 ignore fields beside a $ref. Version 3 documents therefore wrap the $ref in allOf; version 2
   * documents keep the extensions beside it.
   */
  #referenceWith(reference: JsonObject, field: FieldSchema, extensions: JsonObject): JsonObject {
    const beside = { ...this.#defaultOf(field), ...extensions };
    if (Object.keys(beside).length === 0) return reference;
    return this.#dialect === "v2" ? { ...reference, ...extensions } : { allOf: [reference], ...beside };
  }

  /** Refers to the definition of a named scalar, such as a time or a quantity. */
  #scalarReference(name: string, field: FieldSchema): JsonObject {
    if (!this.#names.has(name)) {
      this.#names.add(name);
      this.#built.push([name, RAW_JSON.test(name) ? {} : this.#plainType(field)]);
    }
    return { $ref: this.#pointer(name) };
  }

  #plainType(field: FieldSchema): JsonObject {
    if (field.intOrString) {
      const format = { format: "int-or-string" };
      return this.#dialect === "v2"
        ? { type: "string", ...format }
        : { oneOf: [{ type: "integer" }, { type: "string" }], ...format };
    }
    if (field.quantity)
      return this.#dialect === "v2" ? { type: "string" } : { oneOf: [{ type: "string" }, { type: "number" }] };
    const format = field.format === undefined ? {} : { format: field.format };
    switch (field.type) {
      case "array":
        return { type: "array", items: this.#inner(field) };
      case "map":
        return { type: "object", additionalProperties: this.#inner(field) };
      case "struct":
      case "any":
        return { type: "object" };
      default:
        return { type: field.type, ...format, ...(field.enum === undefined ? {} : { enum: field.enum }) };
    }
  }

  /** The schema of the items of a list or the values of a map. */
  #inner({ items: inner }: FieldSchema): JsonObject {
    if (inner === undefined) return {};
    const schema = this.#field(inner);
    const { zeros } = this.#options;
    const zero = zeros === "none" || schema["default"] !== undefined ? undefined : zeroOf(inner, zeros);
    if (zero === undefined) return schema;
    return { ...(Object.hasOwn(schema, "$ref") ? { allOf: [schema] } : schema), default: zero };
  }

  #defaultOf(field: FieldSchema): JsonObject {
    return this.#dialect === "v3" && field.default !== undefined ? { default: field.default } : {};
  }

  #pointer(name: string): string {
    return modelPointer(this.#dialect, name);
  }
}

/** The zero value in Go; undefined for types that have none in OpenAPI. */
function zeroOf(
  field: FieldSchema,
  zeros: Exclude<SchemaOptions["zeros"], "none">,
): JsonObject | string | number | boolean | undefined {
  // As kubernetes: the zero of every type that is not plain is written as an empty struct.
  if (field.struct === undefined && modelName(field) !== undefined) return zeros === "all" ? {} : undefined;
  switch (field.type) {
    case "struct":
      return {};
    case "string":
      return field.format === "byte" ? undefined : "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    default:
      return undefined;
  }
}

function extensionsOf(field: FieldSchema): JsonObject {
  return {
    ...(field.listType === undefined ? {} : { "x-kubernetes-list-type": field.listType }),
    ...(field.listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": field.listMapKeys }),
    ...(field.mapType === undefined ? {} : { "x-kubernetes-map-type": field.mapType }),
    ...(field.patchStrategy === undefined ? {} : { "x-kubernetes-patch-strategy": field.patchStrategy.join(",") }),
    ...(field.patchMergeKey === undefined ? {} : { "x-kubernetes-patch-merge-key": field.patchMergeKey }),
  };
}
