/** One evaluation of a program: its variables, and what it has cost. */
import { CostLimitExceeded, ListValue, MapValue, OptionalValue, type Value } from "../values/value.ts";

/** Loops that cost nothing by kubernetes' count end too. DIFFERS: kubernetes lets them run until the request ends. */
const ITERATIONS_MAX = 5_000_000;

/** Characters and values that calls may go through beyond what they cost. DIFFERS: kubernetes has no such bound. */
const WORK_MAX = 200_000_000;

/** Going through a value takes as long as going through so many characters. */
const WORK_PER_VALUE = 500;

/** What is in a list or map itself is paid for; what is within that is not. */
function nestedWork(value: Value): number {
  if (value instanceof ListValue || value instanceof MapValue) return (value.weight - value.size) * WORK_PER_VALUE;
  return value instanceof OptionalValue && value.value !== undefined ? nestedWork(value.value) : 0;
}

function workOf(value: Value): number {
  return typeof value === "string" ? value.length : nestedWork(value);
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
    this.#count(workOf(left) + workOf(right));
  }

  /** Strings are compared in no time, and two values only as far as the smaller one goes. */
  countComparison(left: Value, right: Value): void {
    if (typeof left === "object" && typeof right === "object")
      this.#count(Math.min(nestedWork(left), nestedWork(right)));
  }

  #count(work: number): void {
    this.#work += work;
    if (this.#work > WORK_MAX) throw new CostLimitExceeded();
  }

  countIteration(): void {
    if (++this.#iterations > ITERATIONS_MAX) throw new CostLimitExceeded();
  }
}

export type Evaluate = (frame: Frame) => Value;
