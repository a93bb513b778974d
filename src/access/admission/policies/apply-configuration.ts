/**
 * Merges the apply configuration of a MutatingAdmissionPolicy into an object, like server-side apply but without field
 * managers.
 */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import { checkApplied } from "../../../objects/managed-fields/applied-check.ts";
import { mergeObjects } from "../../../objects/managed-fields/merge.ts";
import { isAtomicMap, itemSchema, listKeys, memberSchema, rootSchema } from "../../../objects/managed-fields/shape.ts";
import type { FieldSchema, StructSchema } from "../../../objects/schema.ts";
import { MutationError } from "./mutation-error.ts";

/** Maximum number of atomic fields that one error message lists. */
const PROBLEMS_MAX = 100;

/** Returns the merged object as a new object. Throws a MutationError. */
export function applyConfiguration(object: JsonObject, configuration: JsonObject, schema: StructSchema): JsonObject {
  const { apiVersion, kind } = object;
  const applied: JsonObject = { ...configuration, apiVersion, kind };
  const root = rootSchema(schema);
  const [nothing] = first(nullProblems(applied, root, ""), 1);
  const problem = checkApplied(applied, schema).problem ?? nothing;
  if (problem !== undefined)
    throw new MutationError(`error applying patch: failed to convert patch object to typed object: ${problem}`);
  const atomics = first(atomicPaths(applied, root, ""), PROBLEMS_MAX);
  if (atomics.length > 0)
    throw new MutationError(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`,
    );
  return mergeObjects(object, applied, schema);
}

function first(texts: Iterable<string>, max: number): string[] {
  const taken: string[] = [];
  for (const text of texts) {
    taken.push(text);
    if (taken.length === max) break;
  }
  return taken;
}

/**
 * The paths of atomic fields in the configuration. Mutating them is not allowed, because it would remove values that
 * the configuration does not list.
 */
function* atomicPaths(value: unknown, schema: FieldSchema, path: string): Generator<string> {
  if (isJsonObject(value) && (schema.type === "struct" || schema.type === "map")) {
    if (isAtomicMap(schema)) yield path;
    for (const name of Object.keys(value))
      if (schema.struct?.fields.has(name) === true)
        yield* atomicPaths(value[name], memberSchema(schema, name), `${path}.${name}`);
  } else if (Array.isArray(value) && schema.type === "array") {
    if (listKeys(schema) === undefined) yield path;
    for (const [index, item] of value.entries()) yield* atomicPaths(item, itemSchema(schema), `${path}[${index}]`);
  }
}

const EXPECTED: Readonly<Record<string, string>> = {
  struct: "map, got &{NULL_VALUE}",
  map: "map, got &{NULL_VALUE}",
  array: "list, got &{NULL_VALUE}",
  boolean: "boolean, got &{NULL_VALUE}",
  integer: "numeric (int or float), got structpb.NullValue",
  number: "numeric (int or float), got structpb.NullValue",
  string: "string, got &value.valueUnstructured{Value:0}",
};

/** As kubernetes: null is not allowed for any field, because CEL gives null a type of its own. */
function* nullProblems(value: unknown, schema: FieldSchema, path: string): Generator<string> {
  if (value === null) {
    const expected = EXPECTED[schema.type] ?? EXPECTED["string"];
    yield `${path}: expected ${expected}`;
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* nullProblems(item, itemSchema(schema), `${path}[${index}]`);
  } else if (isJsonObject(value)) {
    for (const name of Object.keys(value))
      yield* nullProblems(value[name], memberSchema(schema, name), `${path}.${name}`);
  }
}
