/** Compiles the named variables of a policy. Each variable can use the variables before it. */
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  STRING,
  TIMESTAMP,
  type Type,
  UINT,
} from "../../../cel/types/type.ts";
import { stringAt, type JsonObject } from "../../../../meta/json.ts";
import { compileExpression, type CompiledExpression, type ExpressionScope } from "./compile-expression.ts";

interface CompositedVariables {
  /** Compiled expressions keyed by variable name, in the order of the policy. */
  readonly compiled: ReadonlyMap<string, CompiledExpression>;
  /** The scope in which all other expressions of the policy are compiled. */
  readonly scope: ExpressionScope;
}

const KNOWN: ReadonlySet<Type> = new Set([BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT]);

/**
 * The type that later expressions see: scalar types, and lists and maps of them, are kept; every other type becomes
 * dyn.
 */
export function compositedType(type: Type): Type {
  if (KNOWN.has(type)) return type;
  const [first = DYN, second = DYN] = type.parameters;
  if (type.kind === "list") return listOf(compositedType(first));
  return type.kind === "map" ? mapOf(compositedType(first), compositedType(second)) : DYN;
}

export function compileVariables(
  variables: readonly JsonObject[],
  environment: ExpressionScope["environment"],
  optional: Omit<ExpressionScope["variables"], "composited">,
): CompositedVariables {
  const fields = new Map<string, Type>();
  const scope: ExpressionScope = { environment, variables: { ...optional, composited: fields } };
  const compiled = new Map<string, CompiledExpression>();
  for (const variable of variables) {
    const name = stringAt(variable, "name");
    const result = compileExpression(stringAt(variable, "expression"), undefined, scope);
    fields.set(name, compositedType(result.type));
    compiled.set(name, result);
  }
  return { compiled, scope };
}
