/** Adds up the estimated costs of all CEL rules of a schema. */
import { COST_MAX } from "../../../../objects/cel/cost/range.ts";
import { SCHEMA_COST_MAX } from "./rule-limits.ts";

interface RuleCost {
  readonly field: string;
  readonly cost: number;
}

const LISTED_MAX = 4;

export class RuleCosts {
  #total = 0;
  #mostExpensive: RuleCost[] = [];

  get total(): number {
    return this.#total;
  }

  /** Up to four of the most expensive rules, each of which costs at least a hundredth of the limit. */
  get mostExpensive(): readonly RuleCost[] {
    return this.#mostExpensive;
  }

  add(field: string, cost: number): void {
    this.#total = Math.min(this.#total + cost, COST_MAX);
    if (cost < SCHEMA_COST_MAX / 100) return;
    this.#mostExpensive = [...this.#mostExpensive, { field, cost }]
      .toSorted((left, right) => right.cost - left.cost)
      .slice(0, LISTED_MAX);
  }
}

function factorText(factor: number): string {
  if (factor > 100) return "more than 100x";
  return factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
}

export function costMessage(what: string, cost: number, max: number): string {
  const advice =
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
  return `${what} exceeds budget by factor of ${factorText(cost / max)} ${advice}`;
}
