/**
 * Validation of cron schedules (five fields, or a descriptor with @), with the errors of the parser that Kubernetes
 * uses.
 */
import { durationError } from "../../../meta/go-duration.ts";
import { timeZoneError } from "./time-zone.ts";

interface Bounds {
  readonly min: bigint;
  readonly max: bigint;
  readonly names?: readonly string[];
}

const MONTHS: readonly string[] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: readonly string[] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: readonly Bounds[] = [
  { min: 0n, max: 59n },
  { min: 0n, max: 23n },
  { min: 1n, max: 31n },
  { min: 1n, max: 12n, names: MONTHS },
  { min: 0n, max: 6n, names: DAYS },
];
const DESCRIPTORS: ReadonlySet<string> = new Set([
  "@yearly",
  "@annually",
  "@monthly",
  "@weekly",
  "@daily",
  "@midnight",
  "@hourly",
]);
const EVERY = "@every ";
const INTEGER_MAX = 2n ** 63n - 1n;

/** The error; undefined if the schedule is valid. */
export function scheduleError(schedule: string): string | undefined {
  const zone = /^(?:TZ|CRON_TZ)=([^ ]*)( ?)/.exec(schedule);
  if (zone === null) return timesError(schedule);
  // As kubernetes: without a space after the time zone, the parser panics, and the error shows the panic.
  const [taken, name = "", space] = zone;
  if (space === "") return "invalid schedule format: runtime error: slice bounds out of range [:-1]";
  const why = timeZoneError(name);
  return why === undefined ? timesError(schedule.slice(taken.length).trim()) : `provided bad location ${name}: ${why}`;
}

function timesError(times: string): string | undefined {
  if (times.startsWith("@")) return descriptorError(times);
  const fields = times.split(/\s+/u).filter((field) => field !== "");
  if (fields.length !== FIELDS.length)
    return `expected exactly ${FIELDS.length} fields, found ${fields.length}: [${fields.join(" ")}]`;
  return firstError(fields, (field, index) => fieldError(field, FIELDS[index]!));
}

function descriptorError(descriptor: string): string | undefined {
  if (DESCRIPTORS.has(descriptor)) return undefined;
  if (!descriptor.startsWith(EVERY)) return `unrecognized descriptor: ${descriptor}`;
  const why = durationError(descriptor.slice(EVERY.length));
  return why === undefined ? undefined : `failed to parse duration ${descriptor}: ${why}`;
}

function fieldError(field: string, bounds: Bounds): string | undefined {
  const ranges = field.split(",").filter((range) => range !== "");
  return firstError(ranges, (range) => rangeError(range, bounds));
}

function firstError(
  texts: readonly string[],
  judge: (text: string, index: number) => string | undefined,
): string | undefined {
  for (const [index, text] of texts.entries()) {
    const error = judge(text, index);
    if (error !== undefined) return error;
  }
  return undefined;
}

interface Range {
  readonly start: bigint;
  readonly end: bigint;
}

function rangeError(text: string, bounds: Bounds): string | undefined {
  const [limits = "", step, ...more] = text.split("/");
  const range = limitsOf(limits, text, bounds);
  if (typeof range === "string") return range;
  if (more.length > 0) return `too many slashes: ${text}`;
  const stepped = step === undefined ? 1n : integerOf(step);
  if (typeof stepped === "string") return stepped;
  // A single number with a step, such as `5/2`, means the range from the number to the maximum.
  const end = step !== undefined && !limits.includes("-") ? bounds.max : range.end;
  if (range.start < bounds.min) return `beginning of range (${range.start}) below minimum (${bounds.min}): ${text}`;
  if (end > bounds.max) return `end of range (${end}) above maximum (${bounds.max}): ${text}`;
  if (range.start > end) return `beginning of range (${range.start}) beyond end of range (${end}): ${text}`;
  return stepped === 0n ? `step of range should be a positive number: ${text}` : undefined;
}

function limitsOf(limits: string, text: string, bounds: Bounds): Range | string {
  const [low = "", high, ...more] = limits.split("-");
  if (low === "*" || low === "?") return { start: bounds.min, end: bounds.max };
  const start = numberOrName(low, bounds);
  if (typeof start === "string") return start;
  if (more.length > 0) return `too many hyphens: ${text}`;
  const end = high === undefined ? start : numberOrName(high, bounds);
  return typeof end === "string" ? end : { start, end };
}

function numberOrName(text: string, { names, min }: Bounds): bigint | string {
  const at = names?.indexOf(text.toLowerCase()) ?? -1;
  return at < 0 ? integerOf(text) : BigInt(at) + min;
}

function integerOf(text: string): bigint | string {
  const why = integerError(text);
  if (why !== undefined)
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: ${why}`;
  const number = BigInt(text.replace(/^\+/, ""));
  return number < 0n ? `negative number (${number}) not allowed: ${text}` : number;
}

function integerError(text: string): string | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return "invalid syntax";
  const digits = text.replace(/^[+-]?0*/, "");
  return digits.length > 19 || BigInt(`0${digits}`) > INTEGER_MAX ? "value out of range" : undefined;
}
