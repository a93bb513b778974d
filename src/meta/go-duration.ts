/** Parses durations as Go writes them ("1h30m"). */
const SECOND = 1_000_000_000n;
const UNIT_NANOS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1000n],
  ["\u00b5s", 1000n],
  ["\u03bcs", 1000n],
  ["ms", 1_000_000n],
  ["s", SECOND],
  ["m", 60n * SECOND],
  ["h", 3600n * SECOND],
]);
const NANOS_PER_MS = 1e6;
const INT64_LIMIT = 2n ** 63n;
/** Longer texts are rejected, because arithmetic with them would be slow. */
const LENGTH_MAX = 1000;

/** The duration in nanoseconds, or Go's error message for a text that is not a duration. */
export function parseGoNanos(text: string): bigint | string {
  const quoted = JSON.stringify(text);
  const invalid = `time: invalid duration ${quoted}`;
  const isNegative = text.startsWith("-");
  let rest = text.replace(/^[+-]/, "");
  if (rest === "0") return 0n;
  if (rest === "" || rest.length > LENGTH_MAX) return invalid;
  let total = 0n;
  while (rest !== "") {
    const [number, whole = "", fraction = ""] = /^([0-9]*)(?:\.([0-9]*))?/.exec(rest)!;
    if (whole === "" && fraction === "") return invalid;
    rest = rest.slice(number.length);
    const unit = /^[^.0-9]*/.exec(rest)![0];
    if (unit === "") return `time: missing unit in duration ${quoted}`;
    const nanos = UNIT_NANOS.get(unit);
    if (nanos === undefined) return `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
    total += (BigInt(whole + fraction) * nanos) / 10n ** BigInt(fraction.length);
    if (total > INT64_LIMIT) return invalid;
    rest = rest.slice(unit.length);
  }
  if (isNegative) return -total;
  return total === INT64_LIMIT ? invalid : total;
}

/** The duration in milliseconds, or Go's error message. */
export function parseGoDuration(text: string): number | string {
  const nanos = parseGoNanos(text);
  return typeof nanos === "string" ? nanos : Number(nanos) / NANOS_PER_MS;
}

export function durationError(text: string): string | undefined {
  const parsed = parseGoNanos(text);
  return typeof parsed === "string" ? parsed : undefined;
}
