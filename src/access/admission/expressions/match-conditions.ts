/** Compiles and evaluates the match conditions of webhooks and policies. */
import { aggregateText } from "../../../meta/aggregate-text.ts";
import type { Attributes } from "../admission.ts";
import { celEnvironment } from "../../../objects/cel/environment.ts";
import { BOOL } from "../../../objects/cel/types/type.ts";
import {
  compileExpression,
  type CompiledExpression,
} from "../../../objects/kinds/access/expressions/compile-expression.ts";
import { stringAt, type JsonObject } from "../../../meta/json.ts";
import { conditionActivation, type ActivationPorts } from "./activation.ts";
import { CONDITIONS_COST_MAX, createEvaluator, OutOfBudget, type ExpressionEvaluator } from "./evaluate.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

export type ConditionsOutcome =
  | { readonly kind: "match" }
  | { readonly kind: "mismatch"; readonly name: string }
  /** The failure policy of the webhook or policy decides whether the write is rejected. */
  | { readonly kind: "error"; readonly message: string };

export interface CompiledCondition {
  readonly name: string;
  readonly expression: CompiledExpression;
}

export interface MatchConditions {
  evaluate(attributes: Attributes, ports: Omit<ActivationPorts, "namespaceObject" | "params">): ConditionsOutcome;
}

const MATCH: ConditionsOutcome = { kind: "match" };
const WEBHOOK_VARIABLES = { hasParams: false, hasAuthorizer: true, composited: undefined } as const;

/** A false condition takes precedence over errors in other conditions, but not over an exhausted cost budget. */
export function evaluateConditions(
  conditions: readonly CompiledCondition[],
  evaluator: ExpressionEvaluator,
): ConditionsOutcome {
  const budget = { remaining: CONDITIONS_COST_MAX };
  const errors: string[] = [];
  let failed: string | undefined;
  try {
    for (const { name, expression } of conditions) {
      const result = evaluator.evaluate(expression, budget);
      if ("error" in result) errors.push(result.error);
      else if (result.value === false) failed ??= name;
    }
  } catch (error) {
    if (error instanceof OutOfBudget) return { kind: "error", message: error.message };
    throw error;
  }
  if (failed !== undefined) return { kind: "mismatch", name: failed };
  return errors.length === 0 ? MATCH : { kind: "error", message: aggregateText(errors) };
}

/** Compiles the match conditions of a webhook. `gates` determines which CEL functions the release supports. */
export function compileMatchConditions(
  conditions: readonly JsonObject[],
  { gates }: { readonly gates: ReleaseGates },
): MatchConditions {
  if (conditions.length === 0) return { evaluate: () => MATCH };
  const scope = { environment: celEnvironment(gates), variables: WEBHOOK_VARIABLES };
  const compiled = conditions.map((condition) => ({
    name: stringAt(condition, "name"),
    expression: compileExpression(stringAt(condition, "expression"), [BOOL], scope),
  }));
  return {
    evaluate(attributes, ports) {
      return evaluateConditions(compiled, createEvaluator(conditionActivation(attributes, ports)));
    },
  };
}
