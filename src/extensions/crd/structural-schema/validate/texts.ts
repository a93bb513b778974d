/** What a schema demands of strings. */
import { RE2JS } from "re2js";
import type { ValueValidation } from "../schema.ts";
import type { Walk } from "./walk.ts";

export type TextCheck = (text: string, walk: Walk) => void;

/** Undefined where nothing is demanded. Only the first thing wrong is told. */
export function compileTexts({ maxLength, minLength, pattern }: ValueValidation): TextCheck | undefined {
  if (maxLength === undefined && minLength === undefined && pattern === undefined) return undefined;
  const matches = pattern === undefined ? undefined : compilePattern(pattern);
  return (text, walk) => {
    if (maxLength !== undefined && text.length > maxLength && characters(text) > maxLength) walk.tooLong(maxLength);
    else if (minLength !== undefined && text.length < 2 * minLength && characters(text) < minLength)
      walk.invalid(`should be at least ${minLength} chars long`, text);
    else matches?.(text, walk);
  };
}

/** Go counts characters, JavaScript halves of some. */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function compilePattern(pattern: string): TextCheck {
  const { compiled, problem } = tryCompile(pattern);
  const shown = problem === undefined ? pattern : `${pattern}, but pattern is invalid: ${problem}`;
  return (text, walk) => {
    if (compiled?.test(text) !== true) walk.invalid(`should match '${shown}'`, text);
  };
}

/** Definitions whose patterns are none are refused, but may be there from elsewhere. */
function tryCompile(pattern: string): { readonly compiled?: RE2JS; readonly problem?: string } {
  try {
    return { compiled: RE2JS.compile(pattern) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
