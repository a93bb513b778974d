/** A pool of numbers of the cluster: the cluster IPs of one family, or the node ports. */
import { randomInteger, type Random } from "../../base/random.ts";
import type { Guard } from "../../storage/kv.ts";
import type { NumberRange } from "./number-range.ts";

/** The Service for which a number is allocated. */
export interface NumberOwner {
  readonly namespace: string;
  readonly name: string;
}

export interface Taken {
  readonly number: string;
  /** The condition that the record of the number still exists; undefined if it is a bit, which the repair releases later. */
  readonly guard?: Guard;
  /** Releases the number, because the Service was not stored. */
  revert(): Promise<void>;
}

export interface NumberPool {
  /** Allocates a number; undefined if it is allocated. Does not check whether the number is in the range. */
  take(number: string, owner: NumberOwner): Promise<Taken | undefined>;
  /** Allocates any free number; undefined if none is free. */
  takeAny(owner: NumberOwner): Promise<Taken | undefined>;
  /** A number that `takeAny` might allocate, without allocating it. */
  suggest(): string | undefined;
  /** Whether the number is free, according to the cache. */
  isFree(number: string): boolean;
  /**
   * Prepares the release of a number that a stored Service has, before that Service is written. The returned function
   * releases it.
   */
  prepareRelease(number: string, owner: NumberOwner): Promise<() => Promise<void>>;
}

/**
 * Yields every free number. It begins at a random one, so that two servers rarely try the same one, and with the upper
 * band, because the lower one is preferred for explicit requests.
 */
export function* candidates(
  { unaskedFrom, size, nameAt }: Pick<NumberRange, "unaskedFrom" | "size" | "nameAt">,
  random: Random,
  isFree: (index: number, number: string) => boolean,
): Generator<{ readonly index: number; readonly number: string }, undefined> {
  const bands = [
    { from: unaskedFrom, length: size - unaskedFrom },
    { from: 0, length: unaskedFrom },
  ];
  for (const { from, length } of bands) {
    const start = randomInteger(random, length);
    for (let step = 0; step < length; step++) {
      const index = from + ((start + step) % length);
      const number = nameAt(index);
      if (isFree(index, number)) yield { index, number };
    }
  }
  return undefined;
}
