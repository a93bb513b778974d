/**
 * The structural type of an object in one release. Schemas come from the catalog or a CRD, are read-only, shared by all
 * servers of a process, and resolve references lazily.
 */
export type FieldType = "string" | "integer" | "number" | "boolean" | "struct" | "map" | "array" | "any";

export interface FieldSchema {
  /**
   * The JSON type. Times are strings of format date-time; quantities and int-or-strings are strings with a flag, for
   * which numbers are valid too; raw JSON is `any`.
   */
  readonly type: FieldType;
  /** For `struct`: the type that lists the fields. Resolved on first use, because types may be recursive. */
  readonly struct: StructSchema | undefined;
  /** For `array`: the schema of its items; for `map`: the schema of its values. */
  readonly items: FieldSchema | undefined;
  /** OpenAPI format: date-time, byte, int32, int64, double, int-or-string, … */
  readonly format: string | undefined;
  readonly required: boolean;
  /**
   * The OpenAPI default. `{}`, "", 0 and false only mark fields that Go always serializes; they are not defaults of the
   * API.
   */
  readonly default: unknown;
  readonly enum: readonly string[] | undefined;
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly listMapKeys: readonly string[] | undefined;
  /** The map type of the field itself. If it is undefined, that of its StructSchema applies. */
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
  /** The unions that OpenAPI publishes, in its format. */
  readonly unions?: readonly object[] | undefined;
  /** True for a custom resource, whose schema does not define patch strategies for strategic merge patches. */
  readonly isCustom?: boolean;
}
