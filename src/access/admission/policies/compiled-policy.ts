/** Compiles the expressions of a ValidatingAdmissionPolicy, once for each revision of the policy. */
import type { Environment } from "../../../objects/cel/check/scope.ts";
import { BOOL, NULL, STRING, type Type } from "../../../objects/cel/types/type.ts";
import {
  compileExpression,
  type CompiledExpression,
} from "../../../objects/kinds/access/expressions/compile-expression.ts";
import { compileVariables } from "../../../objects/kinds/access/expressions/composited-variables.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { CompiledCondition } from "../expressions/match-conditions.ts";

export interface CompiledValidation {
  readonly expression: CompiledExpression;
  readonly messageExpression: CompiledExpression | undefined;
  readonly message: string;
  readonly reason: DenyReason;
}

export interface CompiledAnnotation {
  readonly key: string;
  readonly expression: CompiledExpression;
}

export interface CompiledPolicy {
  readonly isIgnoring: boolean;
  readonly variables: ReadonlyMap<string, CompiledExpression>;
  readonly conditions: readonly CompiledCondition[];
  readonly validations: readonly CompiledValidation[];
  readonly annotations: readonly CompiledAnnotation[];
}

const REASONS = ["Invalid", "Forbidden", "Unauthorized", "RequestEntityTooLarge"] as const;

export type DenyReason = (typeof REASONS)[number];

function reasonOf(validation: JsonObject): DenyReason {
  const reason = stringAt(validation, "reason");
  return REASONS.find((known) => known === reason) ?? "Invalid";
}

/** `environment` holds the CEL declarations that the expressions may use. */
export function compileValidatingPolicy(policy: JsonObject, environment: Environment): CompiledPolicy {
  const spec = objectAt(policy, "spec");
  const hasParams = spec["paramKind"] !== undefined && spec["paramKind"] !== null;
  const { compiled: variables, scope } = compileVariables(objectsAt(spec, "variables"), environment, {
    hasParams,
    hasAuthorizer: true,
  });
  const messageScope = { environment, variables: { ...scope.variables, hasAuthorizer: false } };
  const compiled = (parent: JsonObject, key: string, returns: readonly Type[]): CompiledExpression =>
    compileExpression(stringAt(parent, key), returns, scope);
  return {
    isIgnoring: stringAt(spec, "failurePolicy") === "Ignore",
    variables,
    conditions: objectsAt(spec, "matchConditions").map((condition) => ({
      name: stringAt(condition, "name"),
      expression: compiled(condition, "expression", [BOOL]),
    })),
    validations: objectsAt(spec, "validations").map((validation) => {
      const source = stringAt(validation, "messageExpression");
      return {
        expression: compiled(validation, "expression", [BOOL]),
        messageExpression: source === "" ? undefined : compileExpression(source, [STRING], messageScope),
        message: stringAt(validation, "message"),
        reason: reasonOf(validation),
      };
    }),
    annotations: objectsAt(spec, "auditAnnotations").map((annotation) => ({
      key: stringAt(annotation, "key"),
      expression: compiled(annotation, "valueExpression", [STRING, NULL]),
    })),
  };
}
