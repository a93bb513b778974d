/** The variables in scope, and the functions, types and macros that an expression may use. */
import type { Overload } from "../library/function.ts";
import type { Structs } from "../library/structs.ts";
import type { Type } from "../types/type.ts";

export interface Scope {
  readonly parent: Scope | undefined;
  readonly variables: ReadonlyMap<string, Type>;
}

/** Functions, types and macros that an expression may use. */
export interface Environment {
  /** Keyed by function name. */
  readonly functions: ReadonlyMap<string, readonly Overload[]>;
  /** The types that are values, such as `string` in `type(x) == string`, keyed by name. */
  readonly typeNames: ReadonlyMap<string, Type>;
  /** Struct types that expressions can construct; absent if there are none. */
  readonly structs?: Structs;
  readonly hasTwoVariableMacros: boolean;
  readonly hasSortBy: boolean;
}

/** Searches from the innermost scope outwards. A name with a leading dot is searched only in the outermost scope. */
export function variableType(scope: Scope, name: string): Type | undefined {
  if (name.startsWith(".")) {
    let outermost = scope;
    while (outermost.parent !== undefined) outermost = outermost.parent;
    return outermost.variables.get(name.slice(1));
  }
  for (let level: Scope | undefined = scope; level !== undefined; level = level.parent) {
    const type = level.variables.get(name);
    if (type !== undefined) return type;
  }
  return undefined;
}
