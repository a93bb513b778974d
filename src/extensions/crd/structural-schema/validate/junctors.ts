/** Validates a value against the junctors of a schema: allOf, anyOf, oneOf and not. */
import { goQuote } from "../../../../meta/go-quote.ts";
import type { NestedValidation, ValueValidation } from "../schema.ts";
import type { SchemaCheck } from "./compile.ts";
import type { Problem, Walk } from "./walk.ts";

/** Returns how well the value matches, because kubernetes reports the errors of the alternative that matches best. */
export type JunctorCheck = (value: unknown, walk: Walk) => number;

/** Undefined if the schema has no junctors. */
export function compileJunctors(
  { anyOf, oneOf, allOf, not }: ValueValidation,
  compile: (schema: NestedValidation) => SchemaCheck,
): JunctorCheck | undefined {
  const checks: JunctorCheck[] = [];
  if (anyOf.length > 0) checks.push(anyOfCheck(anyOf.map(compile)));
  if (oneOf.length > 0) checks.push(oneOfCheck(oneOf.map(compile)));
  if (allOf.length > 0) checks.push(allOfCheck(allOf.map(compile)));
  if (not !== undefined) checks.push(notCheck(compile(not)));
  if (checks.length === 0) return undefined;
  return (value, walk) => {
    let matches = 0;
    for (const check of checks) matches += check(value, walk);
    return matches;
  };
}

interface Attempt {
  readonly problems: readonly Problem[];
  readonly matches: number;
}

function attempt(check: SchemaCheck, value: unknown, walk: Walk): Attempt {
  const { problems } = walk;
  walk.problems = [];
  const matches = check(value, walk, undefined);
  const found = walk.problems;
  walk.problems = problems;
  return { problems: found, matches };
}

function better(best: Attempt | undefined, other: Attempt): Attempt {
  return best === undefined || other.matches > best.matches ? other : best;
}

function anyOfCheck(checks: readonly SchemaCheck[]): JunctorCheck {
  return (value, walk) => {
    let best: Attempt | undefined;
    for (const check of checks) {
      const tried = attempt(check, value, walk);
      if (tried.problems.length === 0) return tried.matches;
      best = better(best, tried);
    }
    walk.general(`${goQuote(walk.path)} must validate at least one schema (anyOf)`);
    walk.adopt(best?.problems ?? []);
    return best?.matches ?? 0;
  };
}

function oneOfCheck(checks: readonly SchemaCheck[]): JunctorCheck {
  return (value, walk) => {
    let best: Attempt | undefined;
    let valid: Attempt | undefined;
    let count = 0;
    for (const check of checks) {
      const tried = attempt(check, value, walk);
      if (tried.problems.length > 0) best = better(best, tried);
      else {
        count++;
        valid ??= tried;
      }
    }
    if (count === 1) return valid?.matches ?? 0;
    const found = count === 0 ? "Found none valid" : `Found ${count} valid alternatives`;
    walk.general(`${goQuote(walk.path)} must validate one and only one schema (oneOf). ${found}`);
    if (count > 0) return 0;
    walk.adopt(best?.problems ?? []);
    return best?.matches ?? 0;
  };
}

function allOfCheck(checks: readonly SchemaCheck[]): JunctorCheck {
  return (value, walk) => {
    let matches = 0;
    let count = 0;
    for (const check of checks) {
      const tried = attempt(check, value, walk);
      if (tried.problems.length === 0) count++;
      matches += tried.matches;
      walk.adopt(tried.problems);
    }
    if (count < checks.length)
      walk.general(
        `${goQuote(walk.path)} must validate all the schemas (allOf)${count === 0 ? ". None validated" : ""}`,
      );
    return matches;
  };
}

function notCheck(check: SchemaCheck): JunctorCheck {
  return (value, walk) => {
    if (attempt(check, value, walk).problems.length === 0)
      walk.general(`${goQuote(walk.path)} must not validate the schema (not)`);
    return 0;
  };
}
