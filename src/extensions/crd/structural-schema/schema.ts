/**
 * The structural schema of a custom resource: the types of all values, separate from their validations. It is parsed
 * once from the CRD, then shared and never modified.
 */
export interface StructuralSchema {
  /** "" only if intOrString or preserveUnknown is set, or if the schema specifies nothing. */
  readonly type: "object" | "array" | "string" | "integer" | "number" | "boolean" | "";
  readonly nullable: boolean;
  /** Undefined if the schema has no default. */
  readonly default: unknown;
  readonly properties: ReadonlyMap<string, StructuralSchema>;
  /** Schema of the values of a map. True if any values are allowed; undefined if it is not specified. */
  readonly additionalProperties: StructuralSchema | boolean | undefined;
  readonly items: StructuralSchema | undefined;
  readonly preserveUnknown: boolean;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly listType: "atomic" | "set" | "map" | undefined;
  readonly listMapKeys: readonly string[];
  readonly mapType: "atomic" | "granular" | undefined;
  readonly rules: readonly ValidationRule[];
  readonly value: ValueValidation;
}

/** Validations of a value. Fields that are undefined or empty have no effect. */
export interface ValueValidation {
  readonly format: string | undefined;
  readonly maximum: number | undefined;
  readonly exclusiveMaximum: boolean;
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly maxLength: number | undefined;
  readonly minLength: number | undefined;
  readonly pattern: string | undefined;
  readonly maxItems: number | undefined;
  readonly minItems: number | undefined;
  readonly uniqueItems: boolean;
  readonly multipleOf: number | undefined;
  readonly enum: readonly unknown[] | undefined;
  readonly maxProperties: number | undefined;
  readonly minProperties: number | undefined;
  readonly required: readonly string[];
  readonly allOf: readonly NestedValidation[];
  readonly anyOf: readonly NestedValidation[];
  readonly oneOf: readonly NestedValidation[];
  readonly not: NestedValidation | undefined;
}

/** A schema below a junctor (allOf, anyOf, oneOf, not), which may restrict values but not define their types. */
export interface NestedValidation extends ValueValidation {
  readonly properties: ReadonlyMap<string, NestedValidation>;
  readonly additionalProperties: NestedValidation | undefined;
  readonly items: NestedValidation | undefined;
  /** Empty except below x-kubernetes-int-or-string, where it may be `integer` or `string`. */
  readonly type: string;
  readonly nullable: boolean;
  readonly rules: readonly ValidationRule[];
}

/** One entry of x-kubernetes-validations. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly optionalOldSelf: boolean | undefined;
}
