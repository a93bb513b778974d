/** A range of numbers that are allocated one by one: addresses of a subnet, ports of a range. */
export interface NumberRange {
  /** The form in flags and messages: "10.0.0.0/24", "30000-32767". */
  readonly text: string;
  /** The number of allocatable items. */
  readonly size: number;
  /** Dynamic allocation starts here while free numbers remain: the part below is preferred for explicit requests. */
  readonly unaskedFrom: number;
  /** The canonical name of an item; the index is in [0, size). */
  nameAt(index: number): string;
  /** Undefined if the name is not in the range. */
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
