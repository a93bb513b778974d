/** The names that are known at a place. */
import type { Overload } from "../library/function.ts";
import type { Structs } from "../library/structs.ts";
import type { Type } from "../types/type.ts";

export interface Scope {
  readonly parent: Scope | undefined;
  readonly variables: ReadonlyMap<string, Type>;
}

/** What an expression may use. */
export interface Environment {
  /** By the name of the function. */
  readonly functions: ReadonlyMap<string, readonly Overload[]>;
  /** Types that are values, such as `string` in `type(x) == string`. */
  readonly typeNames: ReadonlyMap<string, Type>;
  /** Absent where no values can be written out but those of the language. */
  readonly structs?: Structs;
  readonly hasTwoVariableMacros: boolean;
  readonly hasSortBy: boolean;
}

/** Innermost first; a leading dot asks for the outermost. */
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
