/**
 * Chooses the message of a failed CEL rule: the result of its messageExpression, its message, or the text of the rule.
 */
import { EvalError, type Value } from "../../../../objects/cel/values/value.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { RuleBudget } from "./evaluate.ts";
import { CALL_COST_MAX, MESSAGE_BYTES_MAX } from "./rule-limits.ts";
import { ruleText } from "./rule-errors.ts";

/** A message, or the reason why no further rules are evaluated. */
type MessageResult = { readonly message: string } | { readonly failure: string };

function otherwise({ rule }: CompiledRule): string {
  return rule.message === "" ? `failed rule: ${ruleText(rule)}` : rule.message.trim();
}

/** True unless the result of a messageExpression is empty, too long or has several lines; such results are ignored. */
function isUsable(text: string): boolean {
  return text !== "" && !text.includes("\n") && Buffer.byteLength(text) <= MESSAGE_BYTES_MAX;
}

export function evaluatedMessage(compiled: CompiledRule, values: readonly Value[], budget: RuleBudget): MessageResult {
  if (compiled.message === undefined) return { message: otherwise(compiled) };
  const { value, cost } = compiled.message.evaluate(values, CALL_COST_MAX);
  if (cost > budget.remaining) {
    budget.remaining = -1;
    const why = "running out of cost budget, no further validation rules will be run";
    return { failure: `messageExpression evaluation failed due to ${why}` };
  }
  if (value instanceof EvalError && value.message.startsWith("operation cancelled")) {
    budget.remaining = -1;
    const source = JSON.stringify(compiled.rule.messageExpression);
    const why = "no further validation rules will be run due to call cost exceeds limit for messageExpression";
    return { failure: `${why}: ${source}` };
  }
  budget.remaining -= cost;
  const text = typeof value === "string" ? value.trim() : "";
  return { message: isUsable(text) ? text : otherwise(compiled) };
}
