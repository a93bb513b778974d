/** Evaluates the CEL rules of a schema for an object. */
import { EvalError, NO_VALUE, OptionalValue, type Value } from "../../../../objects/cel/values/value.ts";
import { isJsonObject, ownMember, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { CompiledRules } from "./compile.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import {
  Correlation,
  counterparts,
  elementRatcheting,
  isTolerated,
  memberRatcheting,
  NOT_RATCHETED,
  type Ratcheting,
} from "./correlation.ts";
import { CALL_COST_MAX, OBJECT_COST_MAX } from "./rule-limits.ts";
import { evaluatedMessage } from "./messages.ts";
import { failedRule, ruleFailure, ruleText } from "./rule-errors.ts";
import { valueOf } from "./values.ts";

/** The remaining cost budget for an object. If it is negative, no further rules are evaluated. */
export interface RuleBudget {
  remaining: number;
}

export interface RuleInput {
  readonly rules: CompiledRules;
  readonly object: unknown;
  /** The existing value; undefined on creation. */
  readonly existing: unknown;
  /** Field path of the object; "" for a whole resource. */
  readonly path: string;
  /** Receives the errors of unchanged values, which do not fail an update. */
  readonly warn?: (message: string) => void;
  /** Cost budget that several calls share. */
  readonly budget?: RuleBudget;
  /** Whether errors of unchanged values are tolerated. Default: if there is an existing object. */
  readonly isRatcheting?: boolean;
}

interface Place {
  readonly rules: CompiledRules;
  readonly value: unknown;
  readonly existing: unknown;
  readonly path: string;
  readonly ratcheting: Ratcheting;
}

const OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run";

function child(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

class Evaluation {
  readonly #budget: RuleBudget;
  readonly #warn: ((message: string) => void) | undefined;

  constructor(budget: RuleBudget, warn: ((message: string) => void) | undefined) {
    this.#budget = budget;
    this.#warn = warn;
  }

  *errors(place: Place): Generator<FieldError> {
    const { rules, value } = place;
    if (value === null || value === undefined) return;
    yield* this.#ruleErrors(place);
    for (const allOf of rules.allOf) {
      if (this.#budget.remaining < 0) return;
      yield* this.errors({
        ...place,
        rules: allOf,
        ratcheting: { current: undefined, nearest: place.ratcheting.nearest },
      });
    }
    if (this.#budget.remaining < 0) return;
    if (Array.isArray(value)) yield* this.#elementErrors(place, value);
    else if (isJsonObject(value)) yield* this.#memberErrors(place, value);
  }

  *#elementErrors(place: Place, elements: readonly unknown[]): Generator<FieldError> {
    const { items, schema } = place.rules;
    if (items === undefined) return;
    const counterpart = counterparts(schema, place.existing);
    for (const [index, value] of elements.entries()) {
      const path = `${place.path}[${index}]`;
      const ratcheting = elementRatcheting(place.ratcheting, index);
      yield* this.errors({ rules: items, value, existing: counterpart(value), path, ratcheting });
      if (this.#budget.remaining < 0) return;
    }
  }

  *#memberErrors(place: Place, object: JsonObject): Generator<FieldError> {
    const { additionalProperties, properties } = place.rules;
    if (additionalProperties === undefined && properties.size === 0) return;
    for (const [name, value] of Object.entries(object)) {
      const rules = additionalProperties ?? properties.get(name);
      if (rules === undefined) continue;
      const path = additionalProperties === undefined ? child(place.path, name) : `${place.path}[${name}]`;
      const existing = ownMember(place.existing, name);
      yield* this.errors({ rules, value, existing, path, ratcheting: memberRatcheting(place.ratcheting, name) });
      if (this.#budget.remaining < 0) return;
    }
  }

  *#ruleErrors(place: Place): Generator<FieldError> {
    const { rules, path } = place;
    const compiled = rules.rules();
    const { type } = rules.schema;
    if (compiled === undefined) {
      const why = "failed to convert to declType for CEL validation rules";
      yield ruleFailure(path, type, `rule compiler initialization error: ${why}`);
      return;
    }
    if (compiled.length === 0) return;
    if (this.#budget.remaining <= 0) {
      yield this.#stop(ruleFailure(path, type, OUT_OF_BUDGET));
      return;
    }
    const self = valueOf(place.value, rules.valueSchema);
    const oldSelf = this.#oldSelf(place, compiled);
    for (const rule of compiled) {
      const error = this.#oneRule(rule, place, self, oldSelf);
      if (error !== undefined) yield error;
      if (this.#budget.remaining < 0) return;
    }
  }

  /** The existing value for `oldSelf`; undefined if there is none, or if no rule uses it. */
  #oldSelf({ rules, existing }: Place, compiled: readonly CompiledRule[]): Value | undefined {
    if (existing === null || existing === undefined || !compiled.some(({ usesOldSelf }) => usesOldSelf))
      return undefined;
    return valueOf(existing, rules.valueSchema);
  }

  #oneRule(compiled: CompiledRule, place: Place, self: Value, oldSelf: Value | undefined): FieldError | undefined {
    const { type } = place.rules.schema;
    if (compiled.error !== undefined) return ruleFailure(place.path, type, `rule compile error: ${compiled.error}`);
    if (compiled.program === undefined) return undefined;
    const isOptional = compiled.rule.optionalOldSelf === true;
    if (compiled.usesOldSelf && oldSelf === undefined && !isOptional) return undefined;
    const wrapped = oldSelf === undefined ? NO_VALUE : new OptionalValue(oldSelf);
    const values = [self, isOptional ? wrapped : (oldSelf ?? null)];
    const { value, cost } = compiled.program.evaluate(values, CALL_COST_MAX);
    if (cost > this.#budget.remaining) return this.#stop(ruleFailure(place.path, type, OUT_OF_BUDGET));
    this.#budget.remaining -= cost;
    if (value === true) return undefined;
    return value instanceof EvalError
      ? this.#evaluationError(value, compiled, place)
      : this.#failed(compiled, place, values);
  }

  #stop(error: FieldError): FieldError {
    this.#budget.remaining = -1;
    return error;
  }

  #evaluationError({ message }: EvalError, { rule }: CompiledRule, { path, rules }: Place): FieldError {
    const { type } = rules.schema;
    const text = ruleText(rule);
    if (message.startsWith("no such overload")) {
      const why = "call arguments did not match a supported operator, function or macro signature for rule";
      return ruleFailure(path, type, `'${message}': ${why}: ${text}`);
    }
    if (message.startsWith("operation cancelled: actual cost limit exceeded")) {
      const why = "no further validation rules will be run due to call cost exceeds limit for rule";
      return this.#stop(ruleFailure(path, type, `'${message}': ${why}: ${text}`));
    }
    return ruleFailure(path, type, `${message} evaluating rule: ${text}`);
  }

  #failed(compiled: CompiledRule, place: Place, values: readonly Value[]): FieldError | undefined {
    const path = compiled.fieldPath === "" ? place.path : child(place.path, compiled.fieldPath);
    const reported = evaluatedMessage(compiled, values, this.#budget);
    const error =
      "failure" in reported
        ? ruleFailure(path, place.rules.schema.type, reported.failure)
        : failedRule(compiled.rule, { path, value: place.value, type: place.rules.schema.type }, reported.message);
    if (compiled.usesOldSelf || !isTolerated(place.ratcheting)) return error;
    this.#warn?.(`${error.field}: ${error.message}`);
    return undefined;
  }
}

export function* schemaRuleErrors(input: RuleInput): Generator<FieldError> {
  const { rules, object, existing, path, budget = { remaining: OBJECT_COST_MAX }, warn } = input;
  const isUpdate = existing !== undefined && existing !== null && input.isRatcheting !== false;
  const current = isUpdate ? new Correlation(object, existing, rules.schema) : undefined;
  const ratcheting = current === undefined ? NOT_RATCHETED : { current, nearest: undefined };
  yield* new Evaluation(budget, warn).errors({ rules, value: object, existing, path, ratcheting });
}
