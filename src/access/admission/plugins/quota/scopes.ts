/** Reads the scopes of a quota, and matches values against them. */
import { objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";

export interface ScopeRequirement {
  readonly scopeName: string;
  readonly operator: string;
  readonly values: readonly string[];
}

export function scopesOf(quota: JsonObject): readonly ScopeRequirement[] {
  const spec = objectAt(quota, "spec");
  const plain = stringsAt(spec, "scopes").map((scopeName) => ({ scopeName, operator: "Exists", values: [] }));
  const selected = objectsAt(objectAt(spec, "scopeSelector"), "matchExpressions").map((requirement) => ({
    scopeName: stringAt(requirement, "scopeName"),
    operator: stringAt(requirement, "operator"),
    values: stringsAt(requirement, "values"),
  }));
  return [...plain, ...selected];
}

/** Applies the operator of the scope to a value; undefined means that the object does not have the value. */
export function matchesValue({ operator, values }: ScopeRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    default:
      return false;
  }
}
