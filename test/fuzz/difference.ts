/** Describes the differences of two JSON documents. */
import { isJsonObject } from "../../src/meta/json.ts";

const SHOWN_MAX = 6;
const SHOWN_CHARACTERS = 200;

export function differences(left: unknown, right: unknown): string {
  const found: string[] = [];
  compare({ left, right, at: "" }, found);
  return found.length === 0 ? "the order of fields" : found.slice(0, SHOWN_MAX).join("\n");
}

interface Pair {
  readonly left: unknown;
  readonly right: unknown;
  readonly at: string;
}

function compare({ left, right, at }: Pair, found: string[]): void {
  if (found.length > SHOWN_MAX || Object.is(left, right)) return;
  const isBoth = (isJsonObject(left) && isJsonObject(right)) || (Array.isArray(left) && Array.isArray(right));
  if (!isBoth) {
    found.push(`${at}: ${shown(left)} versus ${shown(right)}`);
    return;
  }
  const [one, other] = [new Map(Object.entries(left)), new Map(Object.entries(right))];
  for (const key of new Set([...one.keys(), ...other.keys()]))
    compare({ left: one.get(key), right: other.get(key), at: `${at}/${key}` }, found);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, SHOWN_CHARACTERS);
}
