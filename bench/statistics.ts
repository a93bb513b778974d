/** Medians and ranges of samples. */
export interface Figure {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  readonly samples: readonly number[];
}

export function figure(samples: readonly number[]): Figure {
  const sorted = [...samples].sort((left, right) => left - right);
  return { median: quantile(sorted, 0.5), low: sorted[0] ?? NaN, high: sorted.at(-1) ?? NaN, samples };
}

/** The quantile of samples that are in ascending order. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)]!;
  return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at));
}

/** Half the distance between the lowest and the highest sample, as a share of the median: "± 8 %". */
export function spread({ median, low, high }: Figure): number {
  return median === 0 ? 0 : (high - low) / 2 / Math.abs(median);
}
