/** Durations as Go writes them ("1h30m"): undefined, or what Go says about those that are none. */
const UNITS: ReadonlySet<string> = new Set(["ns", "us", "µs", "μs", "ms", "s", "m", "h"]);

export function durationError(text: string): string | undefined {
  const quoted = JSON.stringify(text);
  const invalid = `time: invalid duration ${quoted}`;
  let rest = text.replace(/^[+-]/, "");
  if (rest === "0") return undefined;
  if (rest === "") return invalid;
  while (rest !== "") {
    const number = /^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)/.exec(rest);
    if (number === null) return invalid;
    rest = rest.slice(number[0].length);
    const unit = /^[^.0-9]*/.exec(rest)![0];
    if (unit === "") return `time: missing unit in duration ${quoted}`;
    if (!UNITS.has(unit)) return `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`;
    rest = rest.slice(unit.length);
  }
  return undefined;
}
