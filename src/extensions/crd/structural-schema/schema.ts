/**
 * The structural schema of a custom resource: what every value is, apart from what values must be like. Read once from
 * the definition, then shared and never changed.
 */
export interface StructuralSchema {
  /** "" only where intOrString or preserveUnknown stand in its place, or where nothing is said at all. */
  readonly type: "object" | "array" | "string" | "integer" | "number" | "boolean" | "";
  readonly nullable: boolean;
  /** Undefined: none. */
  readonly default: unknown;
  readonly properties: ReadonlyMap<string, StructuralSchema>;
  /** Of a map: its values; true for any, undefined for none. */
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

/** What a value must be like; undefined and empty: nothing is demanded. */
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

/** Below a junctor values may be demanded, but nothing said about what they are. */
export interface NestedValidation extends ValueValidation {
  readonly properties: ReadonlyMap<string, NestedValidation>;
  readonly additionalProperties: NestedValidation | undefined;
  readonly items: NestedValidation | undefined;
  /** Only `type: integer` and `type: string` below x-kubernetes-int-or-string. */
  readonly type: string;
  readonly nullable: boolean;
  readonly rules: readonly ValidationRule[];
}

/** One of x-kubernetes-validations. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression: string;
  readonly reason: string | undefined;
  readonly fieldPath: string;
  readonly optionalOldSelf: boolean | undefined;
}
