/**
 * The structural type of an object in one release. Schemas come from the catalog, are read-only, shared by all servers
 * of a process, and resolve references lazily.
 */
export type FieldType = "string" | "integer" | "number" | "boolean" | "struct" | "map" | "array" | "any";

export interface FieldSchema {
  /**
   * The type on the wire. Named scalars: times are strings of format date-time, quantities and int-or-strings are
   * strings with their flag set (numbers are valid too), raw JSON is `any`.
   */
  readonly type: FieldType;
  /** For `struct`: the type's fields. Resolved on first use; types may be recursive. */
  readonly struct: StructSchema | undefined;
  /** For `array`: its elements; for `map`: its values. */
  readonly items: FieldSchema | undefined;
  /** OpenAPI format: date-time, byte, int32, int64, double, int-or-string, … */
  readonly format: string | undefined;
  readonly required: boolean;
  /** The OpenAPI default. `{}`, "", 0 and false mark fields that are always serialized, not API defaulting. */
  readonly default: unknown;
  readonly enum: readonly string[] | undefined;
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly listMapKeys: readonly string[] | undefined;
  /** The field's own map type. If it is undefined, the one of its StructSchema applies. */
  readonly mapType: "atomic" | "granular" | undefined;
  readonly patchStrategy: readonly string[] | undefined;
  readonly patchMergeKey: string | undefined;
  readonly intOrString: boolean;
  readonly quantity: boolean;
  readonly embeddedResource: boolean;
  readonly preserveUnknown: boolean;
}

export interface StructSchema {
  /** OpenAPI model name, such as `io.k8s.api.core.v1.PodSpec`. */
  readonly name: string;
  readonly fields: ReadonlyMap<string, FieldSchema>;
  readonly mapType: "atomic" | "granular" | undefined;
  readonly preserveUnknown: boolean;
  /** True for a custom resource, whose schema does not define how strategic merge patches merge it. */
  readonly isCustom?: boolean;
}
