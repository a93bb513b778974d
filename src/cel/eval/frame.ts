/** One evaluation of a program: its variables, and what it has cost. */
import { CostLimitExceeded, type Value } from "../values/value.ts";

/** Loops that cost nothing by kubernetes' count end too. DIFFERS: kubernetes lets them run until the request ends. */
const ITERATIONS_MAX = 5_000_000;

export class Frame {
  readonly slots: Value[];
  cost = 0;
  readonly #costMax: number;
  #iterations = 0;

  constructor(slots: Value[], costMax: number) {
    this.slots = slots;
    this.#costMax = costMax;
  }

  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.#costMax) throw new CostLimitExceeded();
  }

  countIteration(): void {
    if (++this.#iterations > ITERATIONS_MAX) throw new CostLimitExceeded();
  }
}

export type Evaluate = (frame: Frame) => Value;
