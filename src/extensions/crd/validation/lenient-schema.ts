/** The schemas for validating defaults: as in kubernetes, they do not enforce int-or-string. */
import type { StructuralSchema } from "../structural-schema/schema.ts";

export interface LenientSchema {
  readonly schema: StructuralSchema;
  /** The number of schemas in it. */
  readonly size: number;
}

/** Memoizes its results, so that the parts of a schema cost no more than the whole. */
export function lenientSchemas(): (schema: StructuralSchema) => LenientSchema {
  const known = new Map<StructuralSchema, LenientSchema>();
  const lenient = (schema: StructuralSchema): LenientSchema => {
    const found = known.get(schema) ?? withoutIntOrString(schema, lenient);
    known.set(schema, found);
    return found;
  };
  return lenient;
}

function withoutIntOrString(
  schema: StructuralSchema,
  lenient: (schema: StructuralSchema) => LenientSchema,
): LenientSchema {
  let size = 1;
  let hasChanged = schema.intOrString;
  const below = (part: StructuralSchema): StructuralSchema => {
    const one = lenient(part);
    size += one.size;
    hasChanged ||= one.schema !== part;
    return one.schema;
  };
  const { items, additionalProperties } = schema;
  const parts = {
    properties: new Map(schema.properties.entries().map(([name, property]) => [name, below(property)])),
    items: items === undefined ? undefined : below(items),
    additionalProperties: typeof additionalProperties === "object" ? below(additionalProperties) : additionalProperties,
  };
  return { schema: hasChanged ? { ...schema, ...parts, intOrString: false } : schema, size };
}
