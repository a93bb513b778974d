/** Evaluates the CEL expressions of a policy or webhook for one write. The expressions share a cost budget. */
import { EvalError, isError, MapValue, type Value } from "../../../objects/cel/values/value.ts";
import type { CompiledExpression } from "../../../objects/kinds/access/expressions/compile-expression.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { unescapeName } from "../../../objects/cel/escaping.ts";
import type { Activation } from "./activation.ts";

/** Cost limit of one expression. */
const CALL_COST_MAX = 1_000_000;
/** Cost limit of a policy for one binding and one parameter. */
export const POLICY_COST_MAX = 10_000_000;
/** Cost limit of all match conditions of a webhook or policy. */
export const CONDITIONS_COST_MAX = 2_500_000;

/** Thrown if the cost budget is exhausted, so that no further expression is evaluated. */
export class OutOfBudget extends Error {
  override readonly name = "OutOfBudget";

  constructor() {
    super("validation failed due to running out of cost budget, no further validation rules will be run");
  }
}

export interface Budget {
  remaining: number;
}

export type ExpressionResult = { readonly value: Exclude<Value, EvalError> } | { readonly error: string };

/** Evaluates expressions that all see the same variables. */
export interface ExpressionEvaluator {
  /** Returns errors of the expression; throws only OutOfBudget. */
  evaluate(expression: CompiledExpression, budget: Budget): ExpressionResult;
}

function spend(budget: Budget, cost: number): void {
  if (cost > budget.remaining) {
    budget.remaining = -1;
    throw new OutOfBudget();
  }
  budget.remaining -= cost;
}

type Run = (expression: CompiledExpression) => { readonly value: Value; readonly cost: number };

/** The CEL variable `variables`: evaluates each variable of the policy on first use and adds up the costs. */
class LazyVariables extends MapValue {
  readonly #compiled: ReadonlyMap<string, CompiledExpression>;
  readonly #values = new Map<string, Value>();
  readonly #run: Run;
  #cost = 0;

  constructor(compiled: ReadonlyMap<string, CompiledExpression>, run: Run) {
    super();
    this.#compiled = compiled;
    this.#run = run;
  }

  get size(): number {
    return this.#compiled.size;
  }

  keys(): readonly Value[] {
    return [...this.#compiled.keys()];
  }

  find(key: Value): Value | undefined {
    const name = typeof key === "string" ? unescapeName(key) : undefined;
    const expression = name === undefined ? undefined : this.#compiled.get(name);
    if (name === undefined || expression === undefined) return undefined;
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const value = this.#evaluated(name, expression);
    this.#values.set(name, value);
    return value;
  }

  #evaluated(name: string, expression: CompiledExpression): Value {
    const { error } = expression;
    if (error !== undefined)
      return new EvalError(`composited variable ${goQuote(name)} fails to compile: ${error.message}`);
    const { value, cost } = this.#run(expression);
    this.#cost += cost;
    if (!isError(value)) return value;
    return new EvalError(`composited variable ${goQuote(name)} fails to evaluate: ${value.message}`);
  }

  override equals(other: Value): boolean {
    return this === other;
  }

  /** Returns the cost of the variables that were evaluated since the previous call. */
  takeCost(): number {
    const cost = this.#cost;
    this.#cost = 0;
    return cost;
  }
}

/** `variables` are the composited variables of a policy, by name. */
export function createEvaluator(
  activation: Activation,
  variables?: ReadonlyMap<string, CompiledExpression>,
): ExpressionEvaluator {
  const values = new Map<string, Value>(activation);
  const run: Run = ({ program, names }) =>
    program?.evaluate(
      names.map((name) => values.get(name) ?? null),
      CALL_COST_MAX,
    ) ?? { value: null, cost: 0 };
  const composited = variables === undefined ? undefined : new LazyVariables(variables, run);
  if (composited !== undefined) values.set("variables", composited);
  return {
    evaluate(expression, budget) {
      if (expression.error !== undefined) return { error: `compilation error: ${expression.error.message}` };
      const { value, cost } = run(expression);
      spend(budget, composited?.takeCost() ?? 0);
      spend(budget, cost);
      if (!isError(value)) return { value };
      return { error: `expression '${expression.source}' resulted in error: ${value.message}` };
    },
  };
}
