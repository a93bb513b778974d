/** Parses and formats timestamps and durations as Go does. */
import { Duration, Timestamp } from "./value.ts";
import { parseGoNanos } from "../../../meta/go-duration.ts";

const NANOS = 1_000_000_000n;
const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

function nanosOf(fraction: string | undefined): bigint {
  return BigInt((fraction ?? "").slice(0, 9).padEnd(9, "0"));
}

/** The start of a day in milliseconds since 1970; undefined if the day does not exist. */
export function dayMillis(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined;
}

/** Undefined if the text is not a timestamp. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const millis = dayMillis(year, month, day);
  const zoneHours = Number(match[9] ?? 0);
  const zoneMinutes = Number(match[10] ?? 0);
  if (millis === undefined || zoneHours > 24 || zoneMinutes > 59) return undefined;
  const offset = (zoneHours * 60 + zoneMinutes) * 60 * (match[8] === "-" ? -1 : 1);
  const seconds = millis / 1000 + hour * 3600 + minute * 60 + second - offset;
  return new Timestamp(BigInt(seconds) * NANOS + nanosOf(match[7]), offset);
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, "0");
}

function zoneText(offsetSeconds: number): string {
  if (offsetSeconds === 0) return "Z";
  const minutes = Math.floor(Math.abs(offsetSeconds) / 60);
  return `${offsetSeconds < 0 ? "-" : "+"}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

export function formatTimestamp(time: Timestamp): string {
  const nanos = ((time.nanos % NANOS) + NANOS) % NANOS;
  const seconds = Number((time.nanos - nanos) / NANOS) + time.offsetSeconds;
  const date = new Date(seconds * 1000);
  const day = `${pad(date.getUTCFullYear(), 4)}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
  const clock = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
  const fraction = nanos === 0n ? "" : `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`;
  return `${day}T${clock}${fraction}${zoneText(time.offsetSeconds)}`;
}

/** Parses text such as `1h30m`; undefined if it is not a duration. */
export function parseDuration(text: string): Duration | undefined {
  const nanos = parseGoNanos(text);
  return typeof nanos === "string" ? undefined : new Duration(nanos);
}

/** The duration in seconds, as the conversion to string writes it. */
export function formatDuration(duration: Duration): string {
  const seconds = Number(duration.nanos / NANOS) + Number(duration.nanos % NANOS) / 1e9;
  return `${plainNumber(seconds)}s`;
}

/** The number without an exponent. */
function plainNumber(value: number): string {
  const text = String(value);
  if (!text.includes("e")) return text;
  const [mantissa = "", exponent = "0"] = text.split("e");
  const digits = mantissa.replace(/[-.]/g, "");
  const point = (mantissa.replace("-", "").split(".")[0] ?? "").length + Number(exponent);
  const sign = value < 0 ? "-" : "";
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return (
    sign + (point >= digits.length ? digits.padEnd(point, "0") : `${digits.slice(0, point)}.${digits.slice(point)}`)
  );
}
