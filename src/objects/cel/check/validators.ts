/** Checks literals after the type check: mixed element types, and constant arguments that cannot be parsed. */
import { compilePattern } from "../library/regex.ts";
import type { Call, Expression } from "../syntax/expression.ts";
import type { Issue } from "../syntax/issues.ts";
import { formatType, isSameType, optionalContent, type Type } from "../types/type.ts";
import { parseDuration, parseTimestamp } from "../values/time-text.ts";
import { EvalError } from "../values/value.ts";
import type { Checked } from "./checker.ts";
import { formatIssue } from "./format-calls.ts";

const ARGUMENT_TESTS: ReadonlyMap<string, (text: string) => boolean> = new Map<string, (text: string) => boolean>([
  ["duration", (text) => parseDuration(text) !== undefined],
  ["timestamp", (text) => parseTimestamp(text) !== undefined],
  ["matches", (text) => !(compilePattern(text) instanceof EvalError)],
]);

function callIssue(call: Call): Issue | undefined {
  const test = ARGUMENT_TESTS.get(call.name);
  const arg = call.args.at(-1);
  if (test === undefined || arg?.kind !== "literal" || typeof arg.value !== "string" || test(arg.value))
    return undefined;
  return { position: arg.position, message: `invalid ${call.name} argument` };
}

/**
 * Reports the first part whose type differs from that of `parts[0]`, because all elements, keys or values of a literal
 * must have the same type.
 */
function* unequalIssues(parts: readonly Expression[], types: readonly Type[]): Generator<Issue> {
  const [first] = types;
  for (const [index, part] of parts.entries()) {
    const type = types[index];
    if (first === undefined || type === undefined || isSameType(first, type)) continue;
    yield {
      position: part.position,
      message: `expected type '${formatType(first)}' but found '${formatType(type)}'`,
    };
    return;
  }
}

function* aggregateIssues(checked: Checked, expression: Expression): Generator<Issue> {
  const typeOf = (part: Expression, isOptional: boolean): Type[] => {
    const type = checked.types.get(part);
    if (type === undefined) return [];
    return [isOptional ? (optionalContent(type) ?? type) : type];
  };
  if (expression.kind === "list") {
    const types = expression.elements.flatMap((part, index) => typeOf(part, expression.optional.has(index)));
    yield* unequalIssues(expression.elements, types);
  } else if (expression.kind === "map") {
    const keys = expression.entries.map(({ key }) => key);
    yield* unequalIssues(
      keys,
      keys.flatMap((key) => typeOf(key, false)),
    );
    const types = expression.entries.flatMap(({ value, isOptional }) => typeOf(value, isOptional));
    yield* unequalIssues(
      expression.entries.map(({ value }) => value),
      types,
    );
  }
}

function childrenOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "select":
      return [expression.operand];
    case "call":
      return expression.target === undefined ? expression.args : [expression.target, ...expression.args];
    case "list":
      return expression.elements;
    case "map":
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return expression.fields.map(({ value }) => value);
    case "comprehension": {
      const { range, initial, condition, step, result } = expression;
      return [range, initial, condition, step, result];
    }
    default:
      return [];
  }
}

class LiteralCheck {
  readonly issues: Issue[] = [];
  readonly #checked: Checked;
  readonly #seen = new Set<Expression>();

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  visit(expression: Expression, isExempt: boolean): void {
    if (this.#seen.has(expression)) return;
    this.#seen.add(expression);
    if (expression.kind === "call") {
      const issue = callIssue(expression) ?? formatIssue(this.#checked, expression);
      if (issue !== undefined) this.issues.push(issue);
    } else if (!isExempt) this.issues.push(...aggregateIssues(this.#checked, expression));
    const isFormat = expression.kind === "call" && expression.name === "format";
    for (const child of childrenOf(expression)) this.visit(child, isExempt || isFormat);
  }
}

export function literalIssues(checked: Checked): Issue[] {
  const check = new LiteralCheck(checked);
  check.visit(checked.expression, false);
  return check.issues;
}
