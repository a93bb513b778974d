/** Evaluates the JSONPaths in CRDs: those of printer columns, selectable fields and the scale subresource. */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { parseSteps, type PathStep, type PathSteps, type Slice } from "./json-path-parser.ts";

export interface JsonPath {
  /**
   * The first value that the path finds, which may be null; undefined if it finds none or does not match the types of
   * the object.
   */
  first(object: JsonObject): unknown;
}

/**
 * Parses a path such as `.spec.replicas` or `.status.conditions[?(@.type=="Ready")].status`; undefined if it is
 * invalid.
 */
export function parseJsonPath(path: string): JsonPath | undefined {
  const steps = parseSteps(path);
  return steps && { first: (object) => evaluate(steps, [object], { left: VALUES_MAX })?.[0] };
}

/** Splits `.spec.replicas` into field names. Does not interpret other JSONPath syntax. */
export function splitFieldPath(path: string): readonly string[] {
  return (path.startsWith(".") ? path.slice(1) : path).split(".");
}

/** DIFFERS: kube-apiserver has no limit; here a path that visits more values finds nothing. */
const VALUES_MAX = 100_000;

interface Budget {
  left: number;
}

type Values = readonly unknown[];

/** The values that the steps find; undefined if a step does not match the type of its value. */
function evaluate(steps: PathSteps, input: Values, budget: Budget): Values | undefined {
  let values: Values | undefined = input;
  for (const step of steps) {
    budget.left -= 1 + values.length;
    if (budget.left < 0) return undefined;
    values = walk(step, values, budget);
    if (values === undefined) return undefined;
  }
  return values;
}

function walk(step: PathStep, input: Values, budget: Budget): Values | undefined {
  switch (step.type) {
    case "field":
      return input.flatMap((value) =>
        isJsonObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [],
      );
    case "wildcard":
      return collect(input, (value) => members(value), budget);
    case "recursive":
      return descend(input, budget);
    case "slice":
      return collect(input, (value) => (value === null ? [] : sliced(value, step.slice)), budget);
    case "union":
      return collect(step.paths, (path) => evaluate(path, input, budget), budget);
    case "filter":
      return collect(input, (value) => filtered(value, step, budget), budget);
    case "literal":
      return [step.value];
    case "word":
      return undefined;
  }
}

/** All results of `find` in order; undefined if one of them is undefined or there are too many. */
function collect<T>(from: readonly T[], find: (one: T) => Values | undefined, budget: Budget): Values | undefined {
  const found: unknown[] = [];
  for (const one of from) {
    const values = find(one);
    if (values === undefined || (budget.left -= values.length) < 0) return undefined;
    for (const value of values) found.push(value);
  }
  return found;
}

function members(value: unknown): Values {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}

/** All objects, lists and strings in the input at any depth that are not empty, each before its children. */
function descend(input: Values, budget: Budget): Values | undefined {
  const found: unknown[] = [];
  const pending = input.toReversed();
  while (pending.length > 0) {
    const value = pending.pop();
    const held = members(value);
    if ((budget.left -= 1 + held.length) < 0) return undefined;
    if (held.length === 0 && (typeof value !== "string" || value === "")) continue;
    found.push(value);
    for (const one of held.toReversed()) pending.push(one);
  }
  return found;
}

/** Undefined if the value is not a list, or the index is out of bounds. */
function sliced(value: unknown, { from = 0, to, step = 1, isIndex }: Slice): Values | undefined {
  if (!Array.isArray(value)) return undefined;
  const { length } = value;
  const start = from < 0 ? from + length : from;
  const end = isIndex ? start + 1 : to === undefined ? length : to < 0 ? to + length : to;
  if (start === end) return [];
  if (start < 0 || start >= length || end < 0 || end > length || start > end || step <= 0) return undefined;
  const items: Values = value;
  return items.slice(start, end).filter((_, index) => index % step === 0);
}

function filtered(
  value: unknown,
  { left, operator, right }: Extract<PathStep, { type: "filter" }>,
  budget: Budget,
): Values | undefined {
  if (!Array.isArray(value)) return undefined;
  const found: unknown[] = [];
  for (const item of value) {
    const lefts = evaluate(left, [item], budget);
    if (budget.left < 0) return undefined;
    const isKept =
      operator === "exists"
        ? (lefts ?? []).length > 0
        : compareFirst(operator, lefts, () => evaluate(right, [item], budget));
    if (isKept === undefined) return undefined;
    if (isKept) found.push(item);
  }
  return found;
}

/**
 * The result of the comparison; undefined if one side has several values, or if the values cannot be compared. False if
 * a side has no value.
 */
function compareFirst(
  operator: string,
  lefts: Values | undefined,
  evaluateRight: () => Values | undefined,
): boolean | undefined {
  const rights = lefts?.length === 0 ? [] : evaluateRight();
  if (lefts === undefined || rights === undefined || lefts.length > 1 || rights.length > 1) return undefined;
  return lefts.length > 0 && rights.length > 0 ? compare(operator, lefts[0], rights[0]) : false;
}

/** Undefined if the values cannot be compared. Only strings and numbers are ordered. */
function compare(operator: string, left: unknown, right: unknown): boolean | undefined {
  const type = typeof left;
  if (type !== typeof right || (type !== "string" && type !== "number" && type !== "boolean")) return undefined;
  if (operator === "==") return left === right;
  if (operator === "!=") return left !== right;
  if (type === "boolean") return undefined;
  const [one, other] = [left as string, right as string];
  switch (operator) {
    case "<":
      return one < other;
    case "<=":
      return one <= other;
    case ">":
      return one > other;
    case ">=":
      return one >= other;
    default:
      return undefined;
  }
}
