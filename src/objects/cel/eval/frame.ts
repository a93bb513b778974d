/**
 * The state of one evaluation of a program: the values of variables, the cost so far, and the work that the cost does
 * not cover.
 */
import { CostLimitExceeded, ListValue, MapValue, OptionalValue, type Value } from "../values/value.ts";

/** Bounds loops that cost nothing by Kubernetes' rules. DIFFERS: kubernetes runs them until the request ends. */
const ITERATIONS_MAX = 5_000_000;

/** Bounds the characters and values that calls process beyond their cost. DIFFERS: kubernetes has no such bound. */
const WORK_MAX = 200_000_000;

/** Processing one value takes as long as processing this many characters. */
const WORK_PER_VALUE = 500;

/** The cost covers the direct elements of a list or map; values nested deeper count as work. */
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

  /** Counts the work of a comparison, which is that of the smaller value. Comparing strings is negligible. */
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
