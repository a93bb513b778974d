/** Evaluates CEL expressions that use no variables, and renders their result and cost as text, for tests. */
import { goFloat } from "../../../../src/meta/go-fmt.ts";
import { celEnvironment } from "../../../../src/objects/cel/environment.ts";
import { compile } from "../../../../src/objects/cel/program.ts";
import { formatType } from "../../../../src/objects/cel/types/type.ts";
import { formatDuration, formatTimestamp } from "../../../../src/objects/cel/values/time-text.ts";
import {
  Duration,
  EvalError,
  ListValue,
  MapValue,
  OptionalValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "../../../../src/objects/cel/values/value.ts";
import { gatesOf } from "../../../../src/objects/catalog/release-gates.ts";
import type { ReleaseName } from "../../../../src/objects/catalog/release.ts";

export interface Evaluated {
  readonly value: string;
  readonly type: string;
  readonly cost: number;
}

const COST_MAX = 1_000_000;

function shown(value: Value): string {
  if (typeof value === "number") return goFloat(value);
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof EvalError) return `error: ${value.message}`;
  if (value instanceof OptionalValue) return value.value === undefined ? "none" : `optional(${shown(value.value)})`;
  if (value instanceof ListValue) return `[${value.elements().map(shown).join(", ")}]`;
  if (value instanceof MapValue)
    return `{${value
      .keys()
      .map((key) => `${shown(key)}: ${shown(value.find(key) ?? null)}`)
      .join(", ")}}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString("hex")}`;
  if (value instanceof TypeValue) return `type ${value.name}`;
  if (value instanceof Timestamp) return formatTimestamp(value);
  return value instanceof Duration ? formatDuration(value) : String(value);
}

export function evaluated(expression: string, release: ReleaseName = "1.36"): Evaluated {
  const compiled = compile(expression, celEnvironment(gatesOf(release)), new Map());
  if ("issues" in compiled) return { value: compiled.issues, type: "", cost: 0 };
  const type = formatType(compiled.type);
  if ("planError" in compiled) return { value: `no program: ${compiled.planError}`, type, cost: 0 };
  const { value, cost } = compiled.evaluate([], COST_MAX);
  return { value: shown(value), type, cost };
}
