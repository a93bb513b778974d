/** Small plots of plain characters, as wide as there is room. */
const LEVELS = "▁▂▃▄▅▆▇█";
const NOTHING = "·";

/** One character for each value; the highest is that of the scale. Nothing is a dot, and the least of something shows. */
export function sparkline(values: readonly number[], scaleMax = Math.max(0, ...values)): string {
  return values
    .map((value) => {
      if (value <= 0 || scaleMax <= 0) return NOTHING;
      const level = Math.ceil((Math.min(value, scaleMax) / scaleMax) * LEVELS.length);
      return LEVELS.charAt(level - 1);
    })
    .join("");
}

/** Sums of neighbours, so that there are at most so many. */
export function squeeze(values: readonly number[], countMax: number): number[] {
  const count = Math.min(values.length, Math.max(1, countMax));
  const squeezed = Array.from({ length: count }, () => 0);
  for (const [index, value] of values.entries()) {
    const at = Math.floor((index * count) / values.length);
    squeezed[at] = (squeezed[at] ?? 0) + value;
  }
  return squeezed;
}

/** A line of marks at the places, in their order, that these times have on it. */
export function ruler(times: readonly number[], durationMs: number, width: number): string {
  const line = Array.from({ length: width }, () => " ");
  for (const time of times) line[Math.min(width - 1, Math.floor((time / durationMs) * width))] = "^";
  return line.join("").trimEnd();
}
