/** Durations as Go writes them ("1h30m"). */
const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["\u00b5s", 1e-3],
  ["\u03bcs", 1e-3],
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
]);
/** In 64 bits of nanoseconds. */
const MS_MAX = 2 ** 63 / 1e6;

/** In milliseconds; or what Go says about a text that is none. */
export function parseGoDuration(text: string): number | string {
  const quoted = JSON.stringify(text);
  const invalid = `time: invalid duration ${quoted}`;
  let rest = text.replace(/^[+-]/, "");
  let total = 0;
  if (rest === "0") return 0;
  if (rest === "") return invalid;
  while (rest !== "") {
    const number = /^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)/.exec(rest);
    if (number === null) return invalid;
    rest = rest.slice(number[0].length);
    const unit = /^[^.0-9]*/.exec(rest)![0];
    if (unit === "") return `time: missing unit in duration ${quoted}`;
    const unitMs = UNIT_MS.get(unit);
    if (unitMs === undefined) return `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
    total += Number(number[0]) * unitMs;
    if (total >= MS_MAX) return invalid;
    rest = rest.slice(unit.length);
  }
  return text.startsWith("-") ? -total : total;
}

export function durationError(text: string): string | undefined {
  const parsed = parseGoDuration(text);
  return typeof parsed === "string" ? parsed : undefined;
}
