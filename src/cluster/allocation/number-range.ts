/** A range of numbers that are allocated one by one: addresses of a subnet, ports of a range. */
export interface NumberRange {
  /** The form in flags and messages: "10.0.0.0/24", "30000-32767". */
  readonly text: string;
  /** Number of addresses or ports in the range. */
  readonly size: number;
  /**
   * Index at which dynamic allocation starts. Lower numbers are preferred for explicit requests, and are allocated
   * dynamically only when the rest is used up.
   */
  readonly unaskedFrom: number;
  /** The address or port at an index, in canonical form; the index is in [0, size). */
  nameAt(index: number): string;
  /** The index of an address or port; undefined if it is not in the range. */
  indexOf(name: string): number | undefined;
}

/**
 * As kubernetes ServiceIPStaticSubrange and ServiceNodePortStaticSubrange: size / step, limited to [min, max]; 0 for a
 * small range.
 */
export function unaskedFrom(
  size: number,
  bounds: { readonly min: number; readonly max: number; readonly step: number },
): number {
  if (size <= bounds.min) return 0;
  return Math.min(bounds.max, Math.max(bounds.min, Math.floor(size / bounds.step)));
}
