/** One evaluation of a program: its variables, and what it has cost. */
import { CostLimitExceeded, ListValue, MapValue, type Value } from "../values/value.ts";

/** Loops that cost nothing by kubernetes' count end too. DIFFERS: kubernetes lets them run until the request ends. */
const ITERATIONS_MAX = 5_000_000;

/** Characters and elements that calls may go through, whatever they cost. */
const WORK_MAX = 500_000_000;

function workOf(value: Value): number {
  if (typeof value === "string") return value.length;
  return value instanceof ListValue || value instanceof MapValue ? value.size : 0;
}

export class Frame {
  readonly slots: Value[];
  cost = 0;
  readonly #costMax: number;
  #iterations = 0;
  #work = 0;

  constructor(slots: Value[], costMax: number) {
    this.slots = slots;
    this.#costMax = costMax;
  }

  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.#costMax) throw new CostLimitExceeded();
  }

  countWork(left: Value, right: Value): void {
    this.#work += workOf(left) + workOf(right);
    if (this.#work > WORK_MAX) throw new CostLimitExceeded();
  }

  countIteration(): void {
    if (++this.#iterations > ITERATIONS_MAX) throw new CostLimitExceeded();
  }
}

export type Evaluate = (frame: Frame) => Value;
