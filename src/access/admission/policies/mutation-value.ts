/** Converts the CEL value of a mutation's expression to an apply configuration or a JSON patch. */
import { formatTimestamp } from "../../../objects/cel/values/time-text.ts";
import { ListValue, MapValue, Timestamp, Uint, type Value } from "../../../objects/cel/values/value.ts";
import { JsonPatchValue, ObjectValue } from "../../../objects/kinds/access/expressions/patch-types.ts";
import { setMember, type JsonObject } from "../../../meta/json.ts";
import { MutationError } from "./mutation-error.ts";

/** Thrown for a CEL value that cannot be converted to JSON. */
class NoJson extends Error {
  override readonly name = "NoJson";
}

function number(value: bigint): number | bigint {
  const plain = Number(value);
  return Number.isSafeInteger(plain) ? plain : value;
}

/** `isPatch` is true for the values of a JSON patch, which may also be timestamps. */
function jsonOf(value: Value, isPatch: boolean): unknown {
  if (typeof value === "bigint") return number(value);
  if (value === null || typeof value !== "object") return value;
  if (value instanceof Uint) return number(value.value);
  if (value instanceof ListValue) return value.elements().map((element) => jsonOf(element, isPatch));
  if (value instanceof ObjectValue) return objectJson(value, isPatch);
  if (value instanceof MapValue) return mapJson(value, isPatch);
  if (value instanceof Timestamp && isPatch) return formatTimestamp(value);
  throw new NoJson("unsupported type");
}

function objectJson({ fields }: ObjectValue, isPatch: boolean): JsonObject {
  const object: JsonObject = {};
  for (const [name, value] of fields) setMember(object, name, jsonOf(value, isPatch));
  return object;
}

function mapJson(map: MapValue, isPatch: boolean): JsonObject {
  const object: JsonObject = {};
  for (const key of map.keys()) {
    if (typeof key !== "string")
      throw new NoJson(`unsupported type conversion from '${typeof key === "bigint" ? "int" : typeof key}' to string`);
    setMember(object, key, jsonOf(map.find(key) ?? null, isPatch));
  }
  return object;
}

/**
 * The type name of a nested object must be its path, such as Object.spec. Yields a message for each object with another
 * type name.
 */
function* typeNameProblems(value: Value, path: string): Generator<string> {
  if (value instanceof ObjectValue) {
    if (value.typeName !== path)
      yield `unexpected type name ${JSON.stringify(value.typeName)}, expected ${JSON.stringify(path)}, which matches field name path from root Object type`;
    for (const [name, field] of value.fields) yield* typeNameProblems(field, `${path}.${name}`);
  } else if (value instanceof ListValue) {
    for (const element of value.elements()) yield* typeNameProblems(element, path);
  } else if (value instanceof MapValue) {
    for (const key of value.keys()) yield* typeNameProblems(value.find(key) ?? null, path);
  }
}

/** Maximum number of problems that one error message lists. */
const PROBLEMS_MAX = 100;

function checkTypeNames(value: Value): void {
  if (!(value instanceof ObjectValue)) return;
  const problems: string[] = [];
  for (const problem of typeNameProblems(value, value.typeName)) {
    problems.push(problem);
    if (problems.length === PROBLEMS_MAX) break;
  }
  if (problems.length > 0) throw new MutationError(`type mismatch: ${problems.join("\n")}`);
}

/** Converts the value of an ApplyConfiguration expression. Throws a MutationError. */
export function appliedConfiguration(value: Value): JsonObject {
  if (!(value instanceof ObjectValue))
    throw new MutationError("unsupported return type from ApplyConfiguration expression");
  checkTypeNames(value);
  try {
    return objectJson(value, false);
  } catch (error) {
    if (!(error instanceof NoJson)) throw error;
    throw new MutationError("invalid return type: *dynamic.ObjectVal", { cause: error });
  }
}

/** Converts the value of a JSONPatch expression to patch operations. Throws a MutationError. */
export function patchOperations(value: Value): JsonObject[] {
  if (!(value instanceof ListValue))
    throw new MutationError("type mismatch: JSONPatchType.expression should evaluate to array");
  return value.elements().map(operationOf);
}

function operationOf(patch: Value): JsonObject {
  if (!(patch instanceof JsonPatchValue))
    throw new MutationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch");
  const { op, path, from, value } = patch;
  const operation: JsonObject = { op, path, ...(from === "" ? {} : { from }) };
  if (value === undefined) return operation;
  checkTypeNames(value);
  try {
    return { ...operation, value: jsonOf(value, true) };
  } catch (error) {
    if (!(error instanceof NoJson)) throw error;
    const what = "JSONPath valueExpression evaluated to a type that could not marshal to JSON";
    throw new MutationError(`${what}: ${error.message}`, { cause: error });
  }
}
