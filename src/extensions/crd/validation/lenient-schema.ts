/** Derives the schemas against which defaults are validated. As kubernetes: they do not enforce int-or-string. */
import type { StructuralSchema } from "../structural-schema/schema.ts";

export interface LenientSchema {
  readonly schema: StructuralSchema;
  /** Number of schemas in it, including itself. */
  readonly size: number;
}

/**
 * Returns a function that derives lenient schemas. It remembers its results, so that deriving the parts of a schema one
 * by one costs no more than deriving the whole.
 */
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
