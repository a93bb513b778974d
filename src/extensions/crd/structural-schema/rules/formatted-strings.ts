/** Converts strings that have another type in CEL, because of their format: times, durations, bytes. */
import { dayMillis, parseDuration } from "../../../../objects/cel/values/time-text.ts";
import { goQuote } from "../../../../meta/go-quote.ts";
import { Duration, EvalError, Timestamp, type Value } from "../../../../objects/cel/values/value.ts";

const NANOS_PER_MILLI = 1_000_000n;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9})\d*)?)?(?:[Zz]|([+-])(\d{2}):?(\d{2}))?$/;

/** Durations that Go cannot parse: with the unit written out, or with a unit longer than an hour. */
const LONG_DURATION = /^\s*([0-9.]+)\s*([a-z\u00b5]+)\s*$/i;
const LONG_UNITS: ReadonlyMap<string, number> = new Map([
  ...["ns", "nanosecond", "nanoseconds", "nsec", "nsecs"].map((name): [string, number] => [name, 1]),
  ...["us", "\u00b5s", "microsecond", "microseconds", "usec", "usecs"].map((name): [string, number] => [name, 1e3]),
  ...["ms", "millisecond", "milliseconds", "msec", "msecs"].map((name): [string, number] => [name, 1e6]),
  ...["s", "sec", "secs", "second", "seconds"].map((name): [string, number] => [name, 1e9]),
  ...["m", "min", "mins", "minute", "minutes"].map((name): [string, number] => [name, 6e10]),
  ...["h", "hr", "hrs", "hour", "hours"].map((name): [string, number] => [name, 3.6e12]),
  ...["d", "day", "days"].map((name): [string, number] => [name, 8.64e13]),
  ...["w", "wk", "wks", "week", "weeks"].map((name): [string, number] => [name, 6.048e14]),
]);

function date(text: string): Timestamp | undefined {
  const match = DATE.exec(text);
  if (match === null) return undefined;
  const millis = dayMillis(Number(match[1]), Number(match[2]), Number(match[3]));
  return millis === undefined ? undefined : new Timestamp(BigInt(millis) * NANOS_PER_MILLI);
}

function dateTime(text: string): Timestamp | undefined {
  const match = DATE_TIME.exec(text);
  const day = match === null ? undefined : dayMillis(Number(match[1]), Number(match[2]), Number(match[3]));
  if (match === null || day === undefined) return undefined;
  const [hour, minute, second] = [Number(match[4]), Number(match[5]), Number(match[6] ?? 0)];
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const offset = (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)) * 60 * (match[8] === "-" ? -1 : 1);
  const seconds = day / 1000 + hour * 3600 + minute * 60 + second - offset;
  const nanos = BigInt((match[7] ?? "").padEnd(9, "0"));
  return new Timestamp(BigInt(seconds) * 1000n * NANOS_PER_MILLI + nanos, offset);
}

function duration(text: string): Duration | undefined {
  const short = parseDuration(text);
  if (short !== undefined) return short;
  const match = LONG_DURATION.exec(text);
  const unit = LONG_UNITS.get((match?.[2] ?? "").toLowerCase());
  const count = Number(match?.[1] ?? Number.NaN);
  return unit === undefined || !Number.isFinite(count) ? undefined : new Duration(BigInt(Math.trunc(count * unit)));
}

const DATE_LAYOUT = ["2006", "-", "01", "-", "02"] as const;
const DATE_TIME_LAYOUT = [...DATE_LAYOUT, "T", "15", ":", "04", ":", "05"] as const;

/** Go's error message for a malformed time. */
function timeFailure(text: string, layout: readonly string[]): string {
  let rest = text;
  for (const part of layout) {
    const found = /\d/.test(part) ? new RegExp(`^\\d{${part.length}}`).exec(rest)?.[0] : part;
    if (found === undefined || !rest.startsWith(found))
      return `parsing time ${goQuote(text)} as "${layout.join("")}": cannot parse ${goQuote(rest)} as "${part}"`;
    rest = rest.slice(found.length);
  }
  return rest === ""
    ? `parsing time ${goQuote(text)}: day out of range`
    : `parsing time ${goQuote(text)}: extra text: ${goQuote(rest)}`;
}

function base64Failure(text: string): string {
  const bad = text.search(/[^A-Za-z0-9+/]/);
  return `illegal base64 data at input byte ${bad < 0 ? text.length : bad}`;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function formattedString(text: string, format: string | undefined): Value {
  switch (format) {
    case "date":
      return date(text) ?? new EvalError(`Invalid date formatted string ${text}: ${timeFailure(text, DATE_LAYOUT)}`);
    case "date-time":
      return (
        dateTime(text) ??
        new EvalError(`Invalid date-time formatted string ${text}: ${timeFailure(text, DATE_TIME_LAYOUT)}`)
      );
    case "duration":
      return duration(text) ?? new EvalError(`Invalid duration ${text}: unable to parse ${text} as duration`);
    case "byte":
      if (!BASE64.test(text)) return new EvalError(`Invalid byte formatted string ${text}: ${base64Failure(text)}`);
      return Buffer.from(text, "base64");
    default:
      return text;
  }
}
