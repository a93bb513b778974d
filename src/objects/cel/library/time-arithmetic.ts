/** Adds and subtracts timestamps and durations, within the years 1 to 9999. */
import { Duration, EvalError, Timestamp } from "../values/value.ts";

const NANOS = 1_000_000_000n;
const SECONDS_MIN = -62_135_596_800n;
const SECONDS_MAX = 253_402_300_799n;

const INT_OVERFLOW = new EvalError("integer overflow");
export const TIMESTAMP_OVERFLOW = new EvalError("timestamp overflow");
export const NANOS_PER_SECOND = NANOS;

export function floorDivide(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value % divisor < 0n ? quotient - 1n : quotient;
}

export function isInTimeRange(seconds: bigint): boolean {
  return seconds >= SECONDS_MIN && seconds <= SECONDS_MAX;
}

function checkedDuration(nanos: bigint): Duration | EvalError {
  return BigInt.asIntN(64, nanos) === nanos ? new Duration(nanos) : INT_OVERFLOW;
}

export function addDurations(left: Duration, right: Duration): Duration | EvalError {
  return checkedDuration(left.nanos + right.nanos);
}

export function subtractDurations(left: Duration, right: Duration): Duration | EvalError {
  return checkedDuration(left.nanos - right.nanos);
}

export function addTime(time: Timestamp, nanos: bigint): Timestamp | EvalError {
  const sum = time.nanos + nanos;
  return isInTimeRange(floorDivide(sum, NANOS)) ? new Timestamp(sum, time.offsetSeconds) : TIMESTAMP_OVERFLOW;
}

export function subtractTimes(left: Timestamp, right: Timestamp): Duration | EvalError {
  return checkedDuration(left.nanos - right.nanos);
}
