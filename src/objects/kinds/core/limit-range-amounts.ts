/** Validation of the amounts of one limit against each other, with Kubernetes' messages. */
import { invalidValue } from "../../../meta/field-errors.ts";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { millisOf, nanosOf } from "../../../meta/quantity.ts";
import { amountText, isHugePages, isNativeResource } from "./resource-amounts.ts";

interface Amount {
  readonly nanos: bigint;
  readonly millis: bigint;
  readonly text: string;
}

interface Amounts {
  readonly min?: Amount | undefined;
  readonly max?: Amount | undefined;
  readonly default?: Amount | undefined;
  readonly defaultRequest?: Amount | undefined;
  readonly maxLimitRequestRatio?: Amount | undefined;
}

export function* amountComparisonErrors(limit: JsonObject, field: string): Generator<FieldError> {
  for (const name of namesOf(limit)) {
    const amounts = amountsOf(limit, name);
    yield* orderErrors(amounts, (key) => `${field}.${key}[${name}]`);
    yield* ratioErrors(amounts, `${field}.maxLimitRequestRatio[${name}]`);
    yield* overcommitErrors(name, amounts, `${field}.defaultRequest[${name}]`);
  }
}

/** The amounts of a limit to compare. Those of a Pod limit do not include defaults, which are rejected elsewhere. */
function keysOf(limit: JsonObject): readonly (keyof Amounts)[] {
  return limit["type"] === "Pod"
    ? ["min", "max", "maxLimitRequestRatio"]
    : ["min", "max", "default", "defaultRequest", "maxLimitRequestRatio"];
}

function namesOf(limit: JsonObject): string[] {
  return [...new Set(keysOf(limit).flatMap((key) => Object.keys(objectAt(limit, key))))].sort();
}

function amountsOf(limit: JsonObject, name: string): Amounts {
  return Object.fromEntries(
    keysOf(limit)
      .filter((key) => Object.hasOwn(objectAt(limit, key), name))
      .map((key) => [key, amountOf(objectAt(limit, key)[name])]),
  );
}

function amountOf(value: unknown): Amount {
  const nanos = nanosOf(value);
  return { nanos, millis: millisOf(nanos), text: amountText(value) };
}

interface Order {
  readonly less: keyof Amounts;
  readonly more: keyof Amounts;
  /** The field that the error names. `shown`: the field whose value it shows. */
  readonly field: keyof Amounts;
  readonly shown: keyof Amounts;
  readonly words: readonly [string, string];
}

/** As kubernetes: if the default limit is out of bounds, the error shows the bound. */
const ORDERS: readonly Order[] = [
  { less: "min", more: "max", field: "min", shown: "min", words: ["min", "max"] },
  order("min", "defaultRequest", "defaultRequest", ["min", "default request"]),
  order("defaultRequest", "max", "defaultRequest", ["default request", "max"]),
  order("defaultRequest", "default", "defaultRequest", ["default request", "default limit"]),
  { less: "min", more: "default", field: "default", shown: "min", words: ["min", "default"] },
  { less: "default", more: "max", field: "default", shown: "max", words: ["default", "max"] },
];

function order(less: keyof Amounts, more: keyof Amounts, field: keyof Amounts, words: Order["words"]): Order {
  return { less, more, field, shown: field, words };
}

function* orderErrors(amounts: Amounts, fieldOf: (key: keyof Amounts) => string): Generator<FieldError> {
  for (const { less, more, field, shown, words } of ORDERS) {
    const low = amounts[less];
    const high = amounts[more];
    if (low === undefined || high === undefined || low.nanos <= high.nanos) continue;
    const why = `${words[0]} value ${low.text} is greater than ${words[1]} value ${high.text}`;
    yield invalidValue(fieldOf(field), amounts[shown]?.text, why);
  }
}

const MILLIS_PER_UNIT = 1000n;

function* ratioErrors({ min, max, maxLimitRequestRatio: ratio }: Amounts, field: string): Generator<FieldError> {
  if (ratio === undefined) return;
  if (ratio.millis < MILLIS_PER_UNIT) yield invalidValue(field, ratio.text, `ratio ${ratio.text} is less than 1`);
  if (min === undefined || max === undefined) return;
  const possible = Number(max.millis) / Number(min.millis);
  if (Number(ratio.millis) / Number(MILLIS_PER_UNIT) > possible)
    yield invalidValue(field, ratio.text, `ratio ${ratio.text} is greater than max/min = ${possible.toFixed(6)}`);
}

/** Extended resources and huge pages cannot be overcommitted: default limit and default request must be equal. */
function* overcommitErrors(name: string, amounts: Amounts, field: string): Generator<FieldError> {
  const { default: limit, defaultRequest: request } = amounts;
  if (limit === undefined || request === undefined || limit.nanos === request.nanos) return;
  if (isNativeResource(name) && !isHugePages(name)) return;
  const why = `default value ${limit.text} must equal to defaultRequest value ${request.text} in ${name}`;
  yield invalidValue(field, request.text, why);
}
