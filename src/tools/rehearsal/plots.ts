/** Small text plots for a terminal. */
const LEVELS = "▁▂▃▄▅▆▇█";
const NOTHING = "·";

/**
 * A plot with one character for each value, relative to the scale. Zero is a dot, and the smallest other value is
 * visible.
 */
export function sparkline(values: readonly number[], scaleMax = Math.max(0, ...values)): string {
  return values
    .map((value) => {
      if (value <= 0 || scaleMax <= 0) return NOTHING;
      const level = Math.ceil((Math.min(value, scaleMax) / scaleMax) * LEVELS.length);
      return LEVELS.charAt(level - 1);
    })
    .join("");
}

/** Sums adjacent values, so that at most `countMax` values remain. */
export function squeeze(values: readonly number[], countMax: number): number[] {
  const count = Math.min(values.length, Math.max(1, countMax));
  const squeezed = Array.from({ length: count }, () => 0);
  for (const [index, value] of values.entries()) {
    const at = Math.floor((index * count) / values.length);
    squeezed[at] = (squeezed[at] ?? 0) + value;
  }
  return squeezed;
}

/** A line with a mark at each of these times, in proportion. */
export function ruler(times: readonly number[], durationMs: number, width: number): string {
  const line = Array.from({ length: width }, () => " ");
  for (const time of times) line[Math.min(width - 1, Math.floor((time / durationMs) * width))] = "^";
  return line.join("").trimEnd();
}
