/** Validation of the podFailurePolicy and successPolicy of a Job. */
import {
  duplicateValue,
  invalidValue,
  required,
  tooLong,
  tooMany,
  unsupportedValue,
} from "../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors, nonNegativeErrors } from "../checks.ts";
import { countIndexes } from "./job-indexes.ts";

const RULES_MAX = 20;
const EXIT_CODES_MAX = 255;
const PATTERNS_MAX = 20;
const SUCCEEDED_INDEXES_BYTES_MAX = 64 * 1024;
const ACTIONS: readonly string[] = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: readonly string[] = ["In", "NotIn"];
const STATUSES: readonly string[] = ["False", "True", "Unknown"];

export function* podFailurePolicyErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const rules = objectsAt(objectAt(spec, "podFailurePolicy"), "rules");
  const podSpec = objectAt(objectAt(spec, "template"), "spec");
  const containers = new Set(
    [...objectsAt(podSpec, "containers"), ...objectsAt(podSpec, "initContainers")].map(({ name }) => name),
  );
  if (rules.length > RULES_MAX) yield tooMany(`${field}.rules`, rules.length, RULES_MAX);
  for (const [index, rule] of rules.entries()) {
    const ruleField = `${field}.rules[${index}]`;
    yield* actionErrors(rule, spec, `${ruleField}.action`);
    yield* onErrors(rule, containers, ruleField);
  }
}

function* actionErrors(rule: JsonObject, spec: JsonObject, field: string): Generator<FieldError> {
  const action = stringAt(rule, "action");
  if (action === "") yield required(field, `valid values: ${goList(ACTIONS)}`);
  else if (!ACTIONS.includes(action)) yield unsupportedValue(field, action, ACTIONS);
  else if (action === "FailIndex" && spec["backoffLimitPerIndex"] === undefined)
    yield invalidValue(field, action, "requires the backoffLimitPerIndex to be set");
}

function* onErrors(rule: JsonObject, containers: ReadonlySet<unknown>, field: string): Generator<FieldError> {
  const { onExitCodes } = rule;
  const patterns = objectsAt(rule, "onPodConditions");
  if (isJsonObject(onExitCodes)) yield* exitCodesErrors(onExitCodes, containers, `${field}.onExitCodes`);
  if (patterns.length > 0) yield* patternsErrors(patterns, `${field}.onPodConditions`);
  if (onExitCodes !== undefined && patterns.length > 0)
    yield invalidWithoutValue(field, "specifying both OnExitCodes and OnPodConditions is not supported");
  if (onExitCodes === undefined && patterns.length === 0)
    yield invalidWithoutValue(field, "specifying one of OnExitCodes and OnPodConditions is required");
}

/** An error without the value, which would be too long to show. */
export function invalidWithoutValue(field: string, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${why}` };
}

function* patternsErrors(patterns: readonly JsonObject[], field: string): Generator<FieldError> {
  if (patterns.length > PATTERNS_MAX) yield tooMany(field, patterns.length, PATTERNS_MAX);
  for (const [index, pattern] of patterns.entries()) {
    yield* nameErrors(stringAt(pattern, "type"), `${field}[${index}].type`, qualifiedNameErrors);
    const status = stringAt(pattern, "status");
    if (!STATUSES.includes(status)) yield unsupportedValue(`${field}[${index}].status`, status, STATUSES);
  }
}

function* exitCodesErrors(
  onExitCodes: JsonObject,
  containers: ReadonlySet<unknown>,
  field: string,
): Generator<FieldError> {
  const operator = stringAt(onExitCodes, "operator");
  const { containerName } = onExitCodes;
  if (operator === "") yield required(`${field}.operator`, `valid values: ${goList(OPERATORS)}`);
  else if (!OPERATORS.includes(operator)) yield unsupportedValue(`${field}.operator`, operator, OPERATORS);
  if (containerName !== undefined && !containers.has(containerName))
    yield invalidValue(
      `${field}.containerName`,
      containerName,
      "must be one of the container or initContainer names in the pod template",
    );
  yield* exitCodeValuesErrors(numbersAt(onExitCodes, "values"), operator, `${field}.values`);
}

function* exitCodeValuesErrors(
  values: readonly number[] | undefined,
  operator: string,
  field: string,
): Generator<FieldError> {
  const codes = values ?? [];
  if (codes.length === 0) yield invalidValue(field, values, "at least one value is required");
  if (codes.length > EXIT_CODES_MAX) yield tooMany(field, codes.length, EXIT_CODES_MAX);
  const seen = new Set<number>();
  for (const [index, code] of codes.entries()) {
    if (operator === "In" && code === 0)
      yield invalidValue(`${field}[${index}]`, code, "must not be 0 for the In operator");
    if (seen.has(code)) yield duplicateValue(`${field}[${index}]`, code);
    seen.add(code);
  }
  if (codes.some((code, index) => code < (codes[index - 1] ?? code)))
    yield invalidValue(field, codes, "must be ordered");
}

export function* successPolicyErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const rules = objectsAt(objectAt(spec, "successPolicy"), "rules");
  if (rules.length === 0)
    yield required(`${field}.rules`, "at least one rules must be specified when the successPolicy is specified");
  if (rules.length > RULES_MAX) yield tooMany(`${field}.rules`, rules.length, RULES_MAX);
  // DIFFERS: absent completions count as 0; kube-apiserver fails on such a Job.
  const completions = numberAt(spec, "completions") ?? 0;
  for (const [index, rule] of rules.entries()) yield* successRuleErrors(rule, completions, `${field}.rules[${index}]`);
}

function* successRuleErrors(rule: JsonObject, completions: number, field: string): Generator<FieldError> {
  const { succeededIndexes: indexes } = rule;
  const count = numberAt(rule, "succeededCount");
  if (count === undefined && indexes === undefined)
    yield required(field, "at least one of succeededCount or succeededIndexes must be specified");
  let total = 0;
  if (typeof indexes === "string") {
    const place = `${field}.succeededIndexes`;
    if (Buffer.byteLength(indexes) > SUCCEEDED_INDEXES_BYTES_MAX) yield tooLong(place, SUCCEEDED_INDEXES_BYTES_MAX);
    const counted = countIndexes(indexes, completions);
    if (typeof counted === "string") yield invalidValue(place, indexes, `error parsing succeededIndexes: ${counted}`);
    else total = counted;
  }
  if (count === undefined) return;
  const place = `${field}.succeededCount`;
  yield* nonNegativeErrors(count, place);
  const beyond = (max: number, what: string): string => `must be less than or equal to ${max} (the number of ${what})`;
  if (count > completions) yield invalidValue(place, count, beyond(completions, "specified completions"));
  if (indexes !== undefined && count > total)
    yield invalidValue(place, count, beyond(total, "indexes in the specified succeededIndexes field"));
}

function numbersAt(parent: JsonObject, key: string): number[] | undefined {
  const value = parent[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === "number") : undefined;
}

/** The list as Go quotes a list of strings. */
function goList(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;
}
