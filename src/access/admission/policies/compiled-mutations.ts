/** Compiles the expressions of a MutatingAdmissionPolicy, once for each revision of the policy. */
import type { Environment } from "../../../objects/cel/check/scope.ts";
import { BOOL } from "../../../objects/cel/types/type.ts";
import {
  compileExpression,
  type CompiledExpression,
} from "../../../objects/kinds/access/expressions/compile-expression.ts";
import { compileVariables } from "../../../objects/kinds/access/expressions/composited-variables.ts";
import { MUTATIONS, withPatchTypes } from "../../../objects/kinds/access/expressions/patch-types.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { CompiledCondition } from "../expressions/match-conditions.ts";

export interface CompiledMutation {
  readonly kind: keyof typeof MUTATIONS;
  readonly expression: CompiledExpression;
}

export interface CompiledMutations {
  readonly variables: ReadonlyMap<string, CompiledExpression>;
  readonly conditions: readonly CompiledCondition[];
  readonly mutations: readonly CompiledMutation[];
  /** True if the reinvocationPolicy is IfNeeded. */
  readonly isReinvocable: boolean;
}

/** `environment` holds the CEL declarations that the expressions may use. */
export function compileMutatingPolicy(policy: JsonObject, environment: Environment): CompiledMutations {
  const spec = objectAt(policy, "spec");
  const hasParams = spec["paramKind"] !== undefined && spec["paramKind"] !== null;
  const { compiled: variables, scope } = compileVariables(objectsAt(spec, "variables"), environment, {
    hasParams,
    hasAuthorizer: true,
  });
  const patchScope = { ...scope, environment: withPatchTypes(environment) };
  return {
    variables,
    conditions: objectsAt(spec, "matchConditions").map((condition) => ({
      name: stringAt(condition, "name"),
      expression: compileExpression(stringAt(condition, "expression"), [BOOL], scope),
    })),
    mutations: objectsAt(spec, "mutations").map((mutation) => {
      const kind = stringAt(mutation, "patchType") === "JSONPatch" ? "jsonPatch" : "applyConfiguration";
      const source = stringAt(objectAt(mutation, kind), "expression");
      return { kind, expression: compileExpression(source, [MUTATIONS[kind]], patchScope) };
    }),
    isReinvocable: stringAt(spec, "reinvocationPolicy") === "IfNeeded",
  };
}
