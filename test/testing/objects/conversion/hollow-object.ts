/**
 * Creates objects in which every struct, list and map of a schema is present and every scalar is absent, for tests of
 * defaults: every default applies to such an object.
 */
import { formatGroupVersion, type GroupVersion } from "../../../../src/meta/group-version.ts";
import type { JsonObject } from "../../../../src/meta/json.ts";
import type { FieldSchema, StructSchema } from "../../../../src/objects/schema.ts";

const MAP_KEY = "example.com/key";

/** `omits`: the names of fields that are absent, such as all but one member of a union. */
export function hollowObject(
  schema: StructSchema,
  { kind, ...groupVersion }: GroupVersion & { readonly kind: string },
  omits: ReadonlySet<string> = new Set(),
): JsonObject {
  return { ...hollowStruct(schema, [], omits), kind, apiVersion: formatGroupVersion(groupVersion) };
}

function hollowStruct(schema: StructSchema, around: readonly StructSchema[], omits: ReadonlySet<string>): JsonObject {
  const object: JsonObject = {};
  for (const [name, field] of schema.fields) {
    const value = omits.has(name) ? undefined : hollowField(field, [...around, schema], omits);
    if (value !== undefined) object[name] = value;
  }
  return object;
}

/** Undefined for a scalar, and for a struct within itself. */
function hollowField(field: FieldSchema, around: readonly StructSchema[], omits: ReadonlySet<string>): unknown {
  const { type, struct, items } = field;
  if (type === "struct" && struct !== undefined)
    return around.includes(struct) ? undefined : hollowStruct(struct, around, omits);
  const item = items === undefined ? undefined : hollowField(items, around, omits);
  if (item === undefined) return undefined;
  if (type === "array") return [item];
  return type === "map" ? { [MAP_KEY]: item } : undefined;
}
