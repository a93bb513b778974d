/** The CEL accessors of timestamps and durations, such as getHours(). */
import { type Duration, EvalError, type Timestamp, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";
import { floorDivide, NANOS_PER_SECOND } from "./time-arithmetic.ts";

type Part = (date: Date, nanos: number) => number;

const DAY_MILLIS = 86_400_000;
const NANOS_PER_MILLI = 1_000_000;

function dayOfYear(date: Date): number {
  const start = new Date(date.getTime());
  start.setUTCMonth(0, 1);
  return Math.round((date.getTime() - start.getTime()) / DAY_MILLIS);
}

const PARTS: readonly (readonly [name: string, id: string, zonedId: string, part: Part])[] = [
  ["getFullYear", "timestamp_to_year", "timestamp_to_year_with_tz", (date) => date.getUTCFullYear()],
  ["getMonth", "timestamp_to_month", "timestamp_to_month_with_tz", (date) => date.getUTCMonth()],
  ["getDayOfYear", "timestamp_to_day_of_year", "timestamp_to_day_of_year_with_tz", dayOfYear],
  [
    "getDate",
    "timestamp_to_day_of_month_1_based",
    "timestamp_to_day_of_month_1_based_with_tz",
    (date) => date.getUTCDate(),
  ],
  ["getDayOfMonth", "timestamp_to_day_of_month", "timestamp_to_day_of_month_with_tz", (date) => date.getUTCDate() - 1],
  ["getDayOfWeek", "timestamp_to_day_of_week", "timestamp_to_day_of_week_with_tz", (date) => date.getUTCDay()],
  ["getHours", "timestamp_to_hours", "timestamp_to_hours_with_tz", (date) => date.getUTCHours()],
  ["getMinutes", "timestamp_to_minutes", "timestamp_to_minutes_with_tz", (date) => date.getUTCMinutes()],
  ["getSeconds", "timestamp_to_seconds", "timestamp_to_seconds_tz", (date) => date.getUTCSeconds()],
  [
    "getMilliseconds",
    "timestamp_to_milliseconds",
    "timestamp_to_milliseconds_with_tz",
    (_date, nanos) => Math.floor(nanos / NANOS_PER_MILLI),
  ],
];

function partOf(time: Timestamp, offsetSeconds: number, part: Part): bigint {
  const seconds = floorDivide(time.nanos, NANOS_PER_SECOND);
  const nanos = Number(time.nanos - seconds * NANOS_PER_SECOND);
  return BigInt(part(new Date((Number(seconds) + offsetSeconds) * 1000), nanos));
}

const OFFSET = /^([+-]?\d{1,4}):([+-]?\d{1,4})$/;

/** Computes the offset of a time zone, and caches the zones, of which there are a few hundred. */
function zoneOffsets(): (zone: string, time: Timestamp) => number | EvalError {
  const formats = new Map<string, Intl.DateTimeFormat>();
  const formatOf = (zone: string): Intl.DateTimeFormat | undefined => {
    const known = formats.get(zone);
    if (known !== undefined || zone.length > 64) return known;
    try {
      const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
      formats.set(zone, format);
      return format;
    } catch {
      return undefined;
    }
  };
  return (zone, time) => {
    const format = /^[+-]/.test(zone) ? undefined : formatOf(zone);
    if (format === undefined) return new EvalError(`unknown time zone ${zone}`);
    const date = new Date(Number(floorDivide(time.nanos, NANOS_PER_SECOND)) * 1000);
    const name = format.formatToParts(date).find(({ type }) => type === "timeZoneName")?.value ?? "GMT";
    const match = /GMT([+-])(\d{2}):(\d{2})(?::(\d{2}))?/.exec(name);
    if (match === null) return 0;
    const seconds = Number(match[2]) * 3600 + Number(match[3]) * 60 + Number(match[4] ?? 0);
    return match[1] === "-" ? -seconds : seconds;
  };
}

function offsetOf(zone: string, time: Timestamp, named: ReturnType<typeof zoneOffsets>): number | EvalError {
  const colon = zone.indexOf(":");
  if (colon < 0) return zone === "" || zone === "UTC" ? 0 : named(zone, time);
  const match = OFFSET.exec(zone);
  if (match === null) {
    const [hours = ""] = zone.split(":");
    const bad = /^[+-]?\d+$/.test(hours) ? zone.slice(colon + 1) : hours;
    return new EvalError(`strconv.Atoi: parsing ${JSON.stringify(bad)}: invalid syntax`);
  }
  const hours = Number(match[1]);
  const minutes = Number(match[2]);
  return (zone.startsWith("-") ? hours * 60 - minutes : hours * 60 + minutes) * 60;
}

function timestampParts(): Overload[] {
  const named = zoneOffsets();
  return PARTS.flatMap(([name, id, zonedId, part]) => [
    overload(id, `timestamp.${name}(): int`, (time: Timestamp) => partOf(time, 0, part)),
    overload(zonedId, `timestamp.${name}(string): int`, (time: Timestamp, zone: string): Value => {
      const offset = offsetOf(zone, time, named);
      return typeof offset === "number" ? partOf(time, offset, part) : offset;
    }),
  ]);
}

function durationIn(unit: bigint): (duration: Duration) => bigint {
  return (duration) => duration.nanos / unit;
}

export function timeLibrary(): readonly Overload[] {
  return [
    ...timestampParts(),
    overload("duration_to_hours", "duration.getHours(): int", durationIn(3600n * NANOS_PER_SECOND)),
    overload("duration_to_minutes", "duration.getMinutes(): int", durationIn(60n * NANOS_PER_SECOND)),
    overload("duration_to_seconds", "duration.getSeconds(): int", durationIn(NANOS_PER_SECOND)),
    overload("duration_to_milliseconds", "duration.getMilliseconds(): int", durationIn(1_000_000n)),
  ];
}
