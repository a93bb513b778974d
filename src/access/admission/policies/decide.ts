/** Evaluates a ValidatingAdmissionPolicy for one write and one parameter object. */
import { typeName, type Value } from "../../../objects/cel/values/value.ts";
import type { Attributes } from "../admission.ts";
import {
  activationOf,
  type Activation,
  type ActivationPorts,
  conditionActivation,
  withoutAuthorizer,
} from "../expressions/activation.ts";
import {
  type Budget,
  createEvaluator,
  type ExpressionResult,
  OutOfBudget,
  POLICY_COST_MAX,
} from "../expressions/evaluate.ts";
import { evaluateConditions } from "../expressions/match-conditions.ts";
import type { CompiledAnnotation, CompiledPolicy, CompiledValidation, DenyReason } from "./compiled-policy.ts";

/** The denial of one validation; undefined if it passes. */
export type PolicyDecision = { readonly message: string; readonly reason: DenyReason } | undefined;

type AnnotationDecision =
  | { readonly kind: "publish"; readonly key: string; readonly value: string }
  | { readonly kind: "error"; readonly message: string };

export interface PolicyOutcome {
  /**
   * One decision for each validation; a single one if the match conditions cannot be evaluated or the cost budget is
   * exhausted; none if the policy does not apply.
   */
  readonly decisions: readonly PolicyDecision[];
  readonly annotations: readonly AnnotationDecision[];
}

const MESSAGE_BYTES_MAX = 5 * 1024;
const NOTHING: PolicyOutcome = { decisions: [], annotations: [] };

function failure(policy: CompiledPolicy, message: string): PolicyDecision {
  return policy.isIgnoring ? undefined : { message, reason: "Invalid" };
}

/** Returns an OutOfBudget error instead of throwing it. */
function withinBudget<T>(evaluate: () => T): T | OutOfBudget {
  try {
    return evaluate();
  } catch (error) {
    if (error instanceof OutOfBudget) return error;
    throw error;
  }
}

export function decidePolicy(policy: CompiledPolicy, attributes: Attributes, ports: ActivationPorts): PolicyOutcome {
  const failed = (message: string): PolicyOutcome => ({ decisions: [failure(policy, message)], annotations: [] });
  if (policy.conditions.length > 0) {
    const conditions = createEvaluator(conditionActivation(attributes, ports), policy.variables);
    const outcome = evaluateConditions(policy.conditions, conditions);
    if (outcome.kind === "mismatch") return NOTHING;
    if (outcome.kind === "error") return policy.isIgnoring ? NOTHING : failed(outcome.message);
  }
  const activation = activationOf(attributes, ports);
  const decisions = withinBudget(() => validationDecisions(policy, activation));
  if (decisions instanceof OutOfBudget) return failed(decisions.message);
  const annotations = withinBudget(() => annotationDecisions(policy, activation));
  if (annotations instanceof OutOfBudget) return failed(annotations.message);
  return { decisions, annotations };
}

function validationDecisions(policy: CompiledPolicy, activation: Activation): PolicyDecision[] {
  const budget: Budget = { remaining: POLICY_COST_MAX };
  const evaluator = createEvaluator(activation, policy.variables);
  const results = policy.validations.map(({ expression }) => evaluator.evaluate(expression, budget));
  const messages = withinBudget(() => evaluatedMessages(policy, activation, budget));
  return policy.validations.map((validation, index) => {
    const result = results[index];
    if (result === undefined || "error" in result) return failure(policy, result?.error ?? "");
    if (messages instanceof OutOfBudget) return failure(policy, `failed messageExpression: ${messages.message}`);
    if (result.value === true) return undefined;
    return { message: messageOf(validation, messages[index]), reason: validation.reason };
  });
}

/**
 * Evaluates the messageExpressions of all validations, even of those that pass, because kubernetes counts their cost
 * too.
 */
function evaluatedMessages(
  { validations, variables }: CompiledPolicy,
  activation: Activation,
  budget: Budget,
): readonly (ExpressionResult | undefined)[] {
  if (validations.every(({ messageExpression }) => messageExpression === undefined)) return [];
  const evaluator = createEvaluator(withoutAuthorizer(activation), variables);
  return validations.map(({ messageExpression }) =>
    messageExpression === undefined ? undefined : evaluator.evaluate(messageExpression, budget),
  );
}

/**
 * Uses the result of messageExpression, unless it is empty, too long or has several lines; then `message`; then the
 * text of the expression.
 */
function messageOf({ message, expression }: CompiledValidation, evaluated: ExpressionResult | undefined): string {
  const value = evaluated !== undefined && "value" in evaluated ? evaluated.value : "";
  const text = typeof value === "string" ? value.trim() : "";
  const isUsable = !text.includes("\n") && Buffer.byteLength(text) <= MESSAGE_BYTES_MAX;
  return (isUsable ? text : "") || message.trim() || `failed expression: ${expression.source.trim()}`;
}

function annotationDecisions(policy: CompiledPolicy, activation: Activation): AnnotationDecision[] {
  if (policy.annotations.length === 0) return [];
  const budget: Budget = { remaining: POLICY_COST_MAX };
  const evaluator = createEvaluator(withoutAuthorizer(activation), policy.variables);
  const results = policy.annotations.map((annotation) => ({
    annotation,
    result: evaluator.evaluate(annotation.expression, budget),
  }));
  return results.flatMap(({ annotation, result }): AnnotationDecision[] => {
    if (!("error" in result)) return annotationOf(annotation, result.value);
    return policy.isIgnoring ? [] : [{ kind: "error", message: result.error }];
  });
}

function annotationOf({ key, expression }: CompiledAnnotation, value: Value): AnnotationDecision[] {
  if (value === null) return [];
  if (typeof value === "string") {
    const text = value.trim();
    return text === "" ? [] : [{ kind: "publish", key, value: text }];
  }
  const what = `valueExpression '${expression.source}' resulted in unsupported return type: ${typeName(value)}`;
  return [{ kind: "error", message: `${what}. Return type must be either string or null.` }];
}
