/** Compiles one expression of a policy or webhook to a program or to an error message. */
import type { Environment } from "../../../cel/check/scope.ts";
import { compile, type Program } from "../../../cel/program.ts";
import { DYN, isSameType, type Type } from "../../../cel/types/type.ts";
import { admissionVariables, type OptionalVariables } from "./admission-variables.ts";

export interface CompiledExpression {
  readonly source: string;
  /** Undefined if there is an error. */
  readonly program: Program | undefined;
  readonly error: CompileError | undefined;
  readonly type: Type;
  /** Names of the variables, in the order in which the program takes their values. */
  readonly names: readonly string[];
}

interface CompileError {
  readonly message: string;
  /** True if the expression is well formed, but planning its evaluation failed. */
  readonly isInternal: boolean;
}

export interface ExpressionScope {
  readonly environment: Environment;
  readonly variables: OptionalVariables;
}

/** The type as Go prints it. */
function typeText(type: Type): string {
  if (type.parameters.length === 0) return type.name;
  return `${type.name}(${type.parameters.map(typeText).join(", ")})`;
}

function wrongType(returns: readonly Type[], type: Type): string {
  const [only] = returns;
  const wanted =
    returns.length === 1 && only !== undefined ? typeText(only) : `one of [${returns.map(typeText).join(" ")}]`;
  return `must evaluate to ${wanted} but got ${typeText(type)}`;
}

/** `returns`: the accepted result types; undefined accepts any type. */
export function compileExpression(
  source: string,
  returns: readonly Type[] | undefined,
  { environment, variables }: ExpressionScope,
): CompiledExpression {
  const declared = admissionVariables(variables);
  const names = [...declared.keys()];
  const failed = (message: string, isInternal = false): CompiledExpression => ({
    source,
    program: undefined,
    error: { message, isInternal },
    type: DYN,
    names,
  });
  const compiled = compile(source, environment, declared);
  if ("issues" in compiled) return failed(`compilation failed: ${compiled.issues}`);
  const { type } = compiled;
  if (returns !== undefined && !returns.some((wanted) => isSameType(type, wanted)))
    return failed(wrongType(returns, type));
  if ("planError" in compiled) return failed(`program instantiation failed: ${compiled.planError}`, true);
  return { source, program: compiled, error: undefined, type, names };
}
