/** Groups many objects into few webhook calls, each of bounded size. Pure. */

interface BatchLimits {
  readonly objectsMax: number;
  readonly charactersMax: number;
}

/** Splits the objects into batches, in order. A batch with a single object may be larger than the size limit. */
export function inBatches<Item extends { readonly text: string }>(
  items: readonly Item[],
  { objectsMax, charactersMax }: BatchLimits,
): readonly (readonly Item[])[] {
  const batches: Item[][] = [];
  let characters = 0;
  for (const item of items) {
    const last = batches.at(-1);
    const fits = last !== undefined && last.length < objectsMax && characters + item.text.length <= charactersMax;
    if (fits) last.push(item);
    else batches.push([item]);
    characters = fits ? characters + item.text.length : item.text.length;
  }
  return batches;
}
