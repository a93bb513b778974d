/** Checks requests and limits against an item of a LimitRange, and formats the error messages. */
import { type Amount, type Amounts, ZERO_AMOUNT } from "../../../meta/amounts.ts";
import { millisOf, unitsOf } from "../../../meta/quantity.ts";

/**
 * As kubernetes: amounts above this number of units are compared in units, because their number of milli units exceeds
 * an int64.
 */
const UNITS_IN_MILLIS_MAX = (2n ** 63n - 1n) / 1000n;
const RATIO_DIGITS = 6;

/** The request and limit of one resource, and the value that the item enforces. */
interface Observed {
  readonly limitType: string;
  readonly resource: string;
  readonly enforced: Amount;
  readonly request: Amount | undefined;
  readonly limit: Amount | undefined;
}

type Rule = (observed: Observed) => string | undefined;

interface RequestedAmounts {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

export interface LimitItem {
  readonly limitType: string;
  readonly min: Amounts;
  readonly max: Amounts;
  readonly ratio: Amounts;
}

export function* limitErrors(item: LimitItem, asked: RequestedAmounts): Generator<string> {
  yield* broken(item.limitType, item.min, asked, minimum);
  yield* broken(item.limitType, item.max, asked, maximum);
  yield* broken(item.limitType, item.ratio, asked, ratio);
}

/** Checks objects that have requests but no limits, such as persistent volume claims. */
export function* requestLimitErrors(item: LimitItem, requests: Amounts): Generator<string> {
  const asked = { requests, limits: new Map<string, Amount>() };
  yield* broken(item.limitType, item.min, asked, minimum);
  yield* broken(item.limitType, item.max, asked, maximumRequest);
}

function* broken(limitType: string, limits: Amounts, asked: RequestedAmounts, rule: Rule): Generator<string> {
  for (const [resource, enforced] of limits) {
    const request = asked.requests.get(resource);
    const sentence = rule({ limitType, resource, enforced, request, limit: asked.limits.get(resource) });
    if (sentence !== undefined) yield sentence;
  }
}

function minimum(observed: Observed): string | undefined {
  const { request, limit } = observed;
  const values = comparable(observed);
  const start = `minimum ${observed.resource} usage per ${observed.limitType} is ${observed.enforced.text}`;
  if (request === undefined) return `${start}.  No request is specified`;
  if (values.request < values.enforced) return `${start}, but request is ${request.text}`;
  if (limit !== undefined && values.limit < values.enforced) return `${start}, but limit is ${limit.text}`;
  return undefined;
}

function maximum(observed: Observed): string | undefined {
  const { request, limit } = observed;
  const values = comparable(observed);
  const start = `maximum ${observed.resource} usage per ${observed.limitType} is ${observed.enforced.text}`;
  if (limit === undefined) return `${start}.  No limit is specified`;
  if (values.limit > values.enforced) return `${start}, but limit is ${limit.text}`;
  if (request !== undefined && values.request > values.enforced) return `${start}, but request is ${request.text}`;
  return undefined;
}

function maximumRequest(observed: Observed): string | undefined {
  const values = comparable(observed);
  const start = `maximum ${observed.resource} usage per ${observed.limitType} is ${observed.enforced.text}`;
  if (observed.request === undefined) return `${start}.  No request is specified`;
  return values.request > values.enforced ? `${start}, but request is ${observed.request.text}` : undefined;
}

function ratio(observed: Observed): string | undefined {
  const { enforced, request, limit } = observed;
  const values = comparable(observed);
  const start = `${observed.resource} max limit to request ratio per ${observed.limitType} is ${enforced.text}, but`;
  if (request === undefined || values.request === 0n) return `${start} no request is specified or request is 0`;
  if (limit === undefined || values.limit === 0n) return `${start} no limit is specified or limit is 0`;
  const found = Number(values.limit) / Number(values.request);
  const isExceeded =
    unitsOf(enforced.nanos) <= UNITS_IN_MILLIS_MAX
      ? found * 1000 > Number(millisOf(enforced.nanos))
      : found > Number(unitsOf(enforced.nanos));
  return isExceeded ? `${start} provided ratio is ${fixed(found)}` : undefined;
}

/** Returns all three amounts in milli units, or in units if one of them is too large. */
function comparable({
  request = ZERO_AMOUNT,
  limit = ZERO_AMOUNT,
  enforced,
}: Observed): Record<"request" | "limit" | "enforced", bigint> {
  const isFine = [request, limit, enforced].every((one) => unitsOf(one.nanos) <= UNITS_IN_MILLIS_MAX);
  const value = isFine ? millisOf : unitsOf;
  return { request: value(request.nanos), limit: value(limit.nanos), enforced: value(enforced.nanos) };
}

/** Formats a number with six decimals, as Go does: rounds half to even. */
function fixed(value: number): string {
  const text = value.toFixed(RATIO_DIGITS);
  const isBetween = Number(value.toFixed(RATIO_DIGITS + 1)) === value && value.toFixed(RATIO_DIGITS + 1).endsWith("5");
  const isOdd = Number(text.at(-1)) % 2 === 1;
  return isBetween && isOdd ? `${text.slice(0, -1)}${Number(text.at(-1)) - 1}` : text;
}
