/** A row of things that are handed out one by one: addresses of a subnet, ports of a range. */
export interface NumberRange {
  /** As flags and messages write it: "10.0.0.0/24", "30000-32767". */
  readonly text: string;
  /** How many there are to hand out. */
  readonly size: number;
  /** What is chosen without being asked for by name comes from here on, as long as there is any: below is for those who ask. */
  readonly unaskedFrom: number;
  /** The canonical name of one; the index is in [0, size). */
  nameAt(index: number): string;
  /** Undefined when it is not one of them. */
  indexOf(name: string): number | undefined;
}

/** As kubernetes ServiceIPStaticSubrange and ServiceNodePortStaticSubrange: one step of the size, between the bounds. */
export function unaskedFrom(
  size: number,
  bounds: { readonly min: number; readonly max: number; readonly step: number },
): number {
  if (size <= bounds.min) return 0;
  return Math.min(bounds.max, Math.max(bounds.min, Math.floor(size / bounds.step)));
}
