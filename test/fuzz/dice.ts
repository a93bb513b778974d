/** The randomness of the fuzzer. A case is determined by the seed and by its number alone. */
import type { Random } from "../../src/base/random.ts";
import { createSeededRandom } from "../../src/tools/simulator/world.ts";

export type Weighted<Value> = readonly (readonly [weight: number, value: Value])[];

export class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** An integer in [0, bound). */
  int(bound: number): number {
    return Math.floor(this.#random.float() * bound);
  }

  /** An integer in [low, high]. */
  between(low: number, high: number): number {
    return low + this.int(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.#random.float() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    const value = values[this.int(values.length)];
    if (value === undefined && values.length === 0) throw new Error("cannot pick from an empty list");
    return value as Value;
  }

  weighted<Value>(choices: Weighted<Value>): Value {
    let left = this.#random.float() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      left -= weight;
      if (left < 0) return value;
    }
    return choices.at(-1)![1];
  }
}

/** Each case has its own generator, so that a case can be generated without the cases before it. */
export function diceOf(seed: number, caseNumber: number): Dice {
  let mixed = Math.imul(seed, 0x9e3779b1) ^ Math.imul(caseNumber + 1, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0xc2b2ae35);
  return new Dice(createSeededRandom(mixed ^ (mixed >>> 13)));
}
