/** Compiles and evaluates CEL expressions. */
import { Checker, type Checked } from "./check/checker.ts";
import type { Environment } from "./check/scope.ts";
import { literalIssues } from "./check/validators.ts";
import { Frame } from "./eval/frame.ts";
import { PlanError, Planner } from "./eval/planner.ts";
import { type Issue, issuesText } from "./syntax/issues.ts";
import { parse } from "./syntax/parser.ts";
import { TypesTooComplex } from "./types/assignable.ts";
import { DYN, type Type } from "./types/type.ts";
import { CostLimitExceeded, EvalError, type Value } from "./values/value.ts";

interface Evaluation {
  /** The result, or an EvalError. */
  readonly value: Value;
  readonly cost: number;
}

export interface Program {
  readonly checked: Checked;
  readonly type: Type;
  /** `values`: the values of the variables, in the order in which the variables were declared. */
  readonly evaluate: (values: readonly Value[], costMax: number) => Evaluation;
  readonly uses: (variable: string) => boolean;
}

type Compiled = Program | { readonly issues: string } | { readonly planError: string; readonly type: Type };

export type Variables = ReadonlyMap<string, Type>;

function check(source: string, environment: Environment, variables: Variables): Checked | Issue[] {
  const issues: Issue[] = [];
  const expression = parse(source, environment, issues);
  if (expression === undefined) return issues;
  const checker = new Checker(environment, variables, issues);
  try {
    checker.check(expression);
    if (issues.length > 0) return issues;
    checker.finish();
  } catch (error) {
    if (!(error instanceof TypesTooComplex)) throw error;
    return [{ position: -1, message: "expression is too complex" }];
  }
  const checked: Checked = { expression, types: checker.types, references: checker.references };
  issues.push(...literalIssues(checked));
  return issues.length > 0 ? issues : checked;
}

function evaluation(run: (frame: Frame) => Value, frame: Frame): Evaluation {
  try {
    return { value: run(frame), cost: frame.cost };
  } catch (error) {
    if (error instanceof CostLimitExceeded) return { value: new EvalError(error.message), cost: frame.cost };
    throw error;
  }
}

export function compile(source: string, environment: Environment, variables: Variables): Compiled {
  const checked = check(source, environment, variables);
  if (Array.isArray(checked)) return { issues: issuesText(source, checked) };
  const type = checked.types.get(checked.expression) ?? DYN;
  const planner = new Planner(checked, [...variables.keys()]);
  try {
    const plan = planner.plan(checked.expression);
    const names = new Set<string>();
    for (const reference of checked.references.values()) if (reference.kind === "variable") names.add(reference.name);
    return {
      checked,
      type,
      uses: (variable) => names.has(variable),
      evaluate: (values, costMax) => {
        const slots = values.slice();
        slots.length = planner.slotCount;
        return evaluation(plan.evaluate, new Frame(slots, costMax));
      },
    };
  } catch (error) {
    if (error instanceof PlanError) return { planError: error.message, type };
    throw error;
  }
}
