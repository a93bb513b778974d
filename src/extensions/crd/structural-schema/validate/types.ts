/** Validates that a value has the type of its schema. */
import { isInt64 } from "../../../../meta/go-fmt.ts";
import type { Walk } from "./walk.ts";

/** The types of JSON values; integers are distinguished from other numbers. */
type JsonKind = "null" | "boolean" | "string" | "integer" | "number" | "array" | "object";

export function jsonKindOf(value: unknown): JsonKind {
  switch (typeof value) {
    case "string":
      return "string";
    case "number":
      return isInt64(value) ? "integer" : "number";
    case "boolean":
      return "boolean";
    default:
      if (value === null || value === undefined) return "null";
      return Array.isArray(value) ? "array" : "object";
  }
}

export interface TypeRules {
  /** The allowed types; more than one only with x-kubernetes-int-or-string. */
  readonly types: readonly string[];
  readonly nullable: boolean;
  /** "" if there is no format, or one that kubernetes does not know. */
  readonly format: string;
}

/** Names of Go's types, which messages about formats show for numbers. */
const GO_FORMAT: Readonly<Partial<Record<JsonKind, string>>> = { integer: "int64", number: "float64" };

/**
 * Returns whether the value has the type, and adds an error if not. Must be called only for null, or if the schema has
 * a type or a format.
 */
export function checkType(value: unknown, kind: JsonKind, rules: TypeRules, walk: Walk): boolean {
  const { types, nullable, format } = rules;
  if (kind === "null") {
    if (types.length === 0 || nullable) return true;
    walk.invalidType(types.join(","), "null");
    return false;
  }
  const isOfType = types.includes(kind) || isAlsoOfType(value, kind, types);
  const isTextual = kind === "string" || kind === "array";
  if (format !== "" && !isTextual && !isOfType) {
    walk.invalidType(format, GO_FORMAT[kind] ?? "");
    return false;
  }
  // As kubernetes: if there is a format, strings and lists pass this check, unless the schema has type number or
  // integer.
  if (isOfType || (format !== "" && isTextual && !types.includes("number") && !types.includes("integer"))) return true;
  walk.invalidType(types.join(","), kind);
  return false;
}

function isAlsoOfType(value: unknown, kind: JsonKind, types: readonly string[]): boolean {
  if (kind === "integer") return types.includes("number");
  return kind === "number" && types.includes("integer") && isNearlyInteger(value as number);
}

const RELATIVE_ERROR_MAX = 1e-9;

/**
 * As kubernetes: a number that exceeds a positive integer by less than about 2e-9 of its value counts as that integer.
 */
export function isNearlyInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  if (Number.isInteger(value)) return true;
  const whole = Math.trunc(value);
  return whole > 0 && (value - whole) / (value + whole) < RELATIVE_ERROR_MAX;
}
