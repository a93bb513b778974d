/**
 * The fields of a schema that validation uses, common to structural schemas and to schemas below a junctor (allOf,
 * anyOf, oneOf, not).
 */
import type { NestedValidation, StructuralSchema, ValueValidation } from "../schema.ts";

export type AnySchema = StructuralSchema | NestedValidation;

export interface ValidatedSchema {
  readonly types: readonly string[];
  readonly nullable: boolean;
  readonly value: ValueValidation;
  readonly properties: ReadonlyMap<string, AnySchema>;
  readonly additionalProperties: AnySchema | boolean | undefined;
  readonly items: AnySchema | undefined;
  /** Undefined below a junctor, where values are not compared with existing ones. */
  readonly structural: StructuralSchema | undefined;
}

export function toNode(schema: AnySchema): ValidatedSchema {
  const { nullable, properties, additionalProperties, items } = schema;
  const shared = { nullable, properties, additionalProperties, items };
  if (!("value" in schema)) return { ...shared, types: typeList(schema.type), value: schema, structural: undefined };
  const types = schema.intOrString ? ["integer", "string"] : typeList(schema.type);
  return { ...shared, types, value: schema.value, structural: schema };
}

function typeList(type: string): readonly string[] {
  return type === "" ? [] : [type];
}
