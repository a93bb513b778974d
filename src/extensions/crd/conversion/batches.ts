/** Many objects in as few questions as can be: none of them larger than a webhook may be expected to take. Pure. */

interface BatchLimits {
  readonly objectsMax: number;
  readonly charactersMax: number;
}

/** In order. One object alone may be larger than the bound. */
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
