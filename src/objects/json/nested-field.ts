/**
 * Reads and sets fields of unstructured objects by path, and returns Kubernetes' message if a value on the path has the
 * wrong type.
 */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";
import { goType, goValueText, isInt64 } from "../../meta/go-fmt.ts";

/**
 * The value at a path, or the reason why it cannot be read. If both fields are absent, there is no value at the path.
 */
export interface NestedField<T> {
  readonly value?: T;
  readonly problem?: string;
}

export function nestedInteger(object: JsonObject, path: readonly string[]): NestedField<number> {
  const { value, problem } = nestedValue(object, path);
  if (problem !== undefined) return { problem };
  if (value === undefined) return {};
  return isInt64(value) ? { value } : { problem: mismatch(path, value, "int64") };
}

export function nestedText(object: JsonObject, path: readonly string[]): NestedField<string> {
  const { value, problem } = nestedValue(object, path);
  if (problem !== undefined) return { problem };
  if (value === undefined) return {};
  return typeof value === "string" ? { value } : { problem: mismatch(path, value, "string") };
}

function nestedValue(object: JsonObject, path: readonly string[]): NestedField<unknown> {
  let value: unknown = object;
  for (const [index, name] of path.entries()) {
    if (value === null) return {};
    if (!isJsonObject(value)) return { problem: mismatch(path.slice(0, index + 1), value, "map[string]interface{}") };
    if (!Object.hasOwn(value, name)) return {};
    value = value[name];
  }
  return { value };
}

function mismatch(path: readonly string[], value: unknown, expected: string): string {
  const found = `${goValueText(value)} is of the type ${goType(value)}`;
  return `${pathText(path)} accessor error: ${found}, expected ${expected}`;
}

/** Returns a copy in which only the values on the path are new, or the reason why the value cannot be set. */
export function withNestedValue(
  object: JsonObject,
  path: readonly string[],
  value: unknown,
): { readonly object: JsonObject } | { readonly problem: string } {
  const copy = { ...object };
  let holder: JsonObject = copy;
  for (const [index, name] of path.slice(0, -1).entries()) {
    const before = Object.hasOwn(holder, name) ? holder[name] : {};
    if (!isJsonObject(before))
      return {
        problem: `value cannot be set because ${pathText(path.slice(0, index + 1))} is not a map[string]interface{}`,
      };
    const held = { ...before };
    setMember(holder, name, held);
    holder = held;
  }
  setMember(holder, path.at(-1) ?? "", value);
  return { object: copy };
}

function pathText(path: readonly string[]): string {
  return `.${path.join(".")}`;
}
