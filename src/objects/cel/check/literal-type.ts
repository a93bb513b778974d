/** Finds the CEL type of a literal. */
import { BOOL, BYTES, DOUBLE, INT, NULL, STRING, type Type, UINT } from "../types/type.ts";
import { Uint, type Value } from "../values/value.ts";

export function literalType(value: Value): Type {
  switch (typeof value) {
    case "string":
      return STRING;
    case "boolean":
      return BOOL;
    case "bigint":
      return INT;
    case "number":
      return DOUBLE;
    default:
      if (value === null) return NULL;
      return value instanceof Uint ? UINT : BYTES;
  }
}
