/** Converts the schemas of the catalog to OpenAPI 2 or 3. */
import { modelName } from "../../../objects/catalog/schema-source.ts";
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

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Collects the definitions of all models to which a document refers, keyed by model name. */
export class SchemaCollector {
  readonly #dialect: Dialect;
  readonly #kindsOf: ReadonlyMap<string, readonly GroupVersionKind[]>;
  readonly #descriptions: ReadonlyMap<string, string>;
  readonly #definitions = new Map<string, JsonObject>();
  readonly #pending: Model[] = [];

  /** `descriptions` has the descriptions of fields, keyed by "model.field". */
  constructor(
    dialect: Dialect,
    kindsOf: ReadonlyMap<string, readonly GroupVersionKind[]>,
    descriptions: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#dialect = dialect;
    this.#kindsOf = kindsOf;
    this.#descriptions = descriptions;
  }

  /**
   * Returns a reference to the model and adds its definition to `definitions()`. If two models have the same name, the
   * first one is used.
   */
  reference(model: Model): JsonObject {
    if (!this.#definitions.has(model.name)) {
      this.#definitions.set(model.name, {});
      this.#pending.push(model);
    }
    return { $ref: this.#pointer(model.name) };
  }

  /** The definitions of all models referred to so far, directly or indirectly, sorted by name. */
  definitions(): JsonObject {
    this.settle();
    return Object.fromEntries([...this.#definitions].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  /**
   * Builds the definitions of all models referred to so far, directly or indirectly. Models that are added later cannot
   * replace them.
   */
  settle(): void {
    for (let model = this.#pending.pop(); model !== undefined; model = this.#pending.pop()) {
      const definition = "definition" in model ? model.definition(this.#dialect) : this.#structDefinition(model);
      this.#definitions.set(model.name, definition);
    }
  }

  #structDefinition(struct: StructSchema): JsonObject {
    const properties: JsonObject = {};
    const required: string[] = [];
    for (const [name, field] of struct.fields) {
      properties[name] = this.#described(`${struct.name}.${name}`, this.#field(field));
      if (field.required) required.push(name);
    }
    const kinds = this.#kindsOf.get(struct.name);
    return {
      type: "object",
      ...(required.length === 0 ? {} : { required }),
      ...(struct.fields.size === 0 ? {} : { properties }),
      ...(kinds === undefined ? {} : { "x-kubernetes-group-version-kind": kinds }),
      ...(struct.mapType === undefined ? {} : { "x-kubernetes-map-type": struct.mapType }),
    };
  }

  #described(name: string, schema: JsonObject): JsonObject {
    const description = this.#descriptions.get(name);
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
    if (!this.#definitions.has(name)) this.#definitions.set(name, this.#plainType(field));
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
        return { type: "array", items: field.items === undefined ? {} : this.#field(field.items) };
      case "map":
        return { type: "object", additionalProperties: field.items === undefined ? {} : this.#field(field.items) };
      case "struct":
      case "any":
        return { type: "object" };
      default:
        return { type: field.type, ...format, ...(field.enum === undefined ? {} : { enum: field.enum }) };
    }
  }

  #defaultOf(field: FieldSchema): JsonObject {
    return this.#dialect === "v3" && field.default !== undefined ? { default: field.default } : {};
  }

  #pointer(name: string): string {
    return modelPointer(this.#dialect, name);
  }
}

function extensionsOf(field: FieldSchema): JsonObject {
  return {
    ...(field.listType === undefined ? {} : { "x-kubernetes-list-type": field.listType }),
    ...(field.listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": field.listMapKeys }),
    ...(field.mapType === undefined ? {} : { "x-kubernetes-map-type": field.mapType }),
    ...(field.patchStrategy === undefined ? {} : { "x-kubernetes-patch-strategy": field.patchStrategy.join(",") }),
    ...(field.patchMergeKey === undefined ? {} : { "x-kubernetes-patch-merge-key": field.patchMergeKey }),
    ...(field.embeddedResource ? { "x-kubernetes-embedded-resource": true } : {}),
    ...(field.preserveUnknown ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
  };
}
