/**
 * Regular expressions with RE2 semantics, which match in linear time. With JavaScript's RegExp, one pattern could block
 * the server.
 */
import { RE2JS } from "re2js";
import { ArrayList, EvalError, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";

const PATTERNS_KEPT = 64;
const PATTERN_LENGTH_MAX = 10_000;
/**
 * Bounds the size of a compiled pattern, because the cost of a call depends only on the length of the pattern. DIFFERS:
 * kubernetes has no such bound.
 */
const PROGRAM_SIZE_MAX = 50_000;
const TOO_LARGE = new EvalError("error parsing regexp: expression too large");

type Compile = (pattern: string) => RE2JS | EvalError;

/** Compiles patterns and caches them, because rules use the same few patterns repeatedly. */
function compiler(): Compile {
  const kept = new Map<string, RE2JS>();
  return (pattern) => {
    const known = kept.get(pattern);
    if (known !== undefined) return known;
    const compiled = compilePattern(pattern);
    if (compiled instanceof EvalError) return compiled;
    if (kept.size >= PATTERNS_KEPT) kept.delete(kept.keys().next().value ?? "");
    kept.set(pattern, compiled);
    return compiled;
  };
}

export function compilePattern(pattern: string): RE2JS | EvalError {
  if (pattern.length > PATTERN_LENGTH_MAX) return TOO_LARGE;
  try {
    const compiled = RE2JS.compile(pattern);
    return compiled.programSize() > PROGRAM_SIZE_MAX ? TOO_LARGE : compiled;
  } catch (error) {
    return new EvalError(error instanceof Error ? error.message : "error parsing regexp");
  }
}

function matches(compile: Compile): (text: string, pattern: string) => Value {
  return (text, pattern) => {
    const expression = compile(pattern);
    return expression instanceof EvalError ? expression : expression.matcher(text).find();
  };
}

function illegal(error: EvalError): EvalError {
  return new EvalError(`Illegal regex: ${error.message}`);
}

function find(compile: Compile): (text: string, pattern: string) => Value {
  return (text, pattern) => {
    const expression = compile(pattern);
    if (expression instanceof EvalError) return illegal(expression);
    const matcher = expression.matcher(text);
    return matcher.find() ? (matcher.group() ?? "") : "";
  };
}

function findAll(compile: Compile): (text: string, pattern: string, max?: bigint) => Value {
  return (text, pattern, max = -1n) => {
    const expression = compile(pattern);
    if (expression instanceof EvalError) return illegal(expression);
    const found: Value[] = [];
    const matcher = expression.matcher(text);
    let end = -1;
    while ((max < 0n || found.length < max) && matcher.find()) {
      // As Go: skips an empty match directly after the previous match.
      if (matcher.start() === matcher.end() && matcher.start() === end) continue;
      end = matcher.end();
      found.push(matcher.group() ?? "");
    }
    return new ArrayList(found);
  };
}

export function regexLibrary(): readonly Overload[] {
  const compile = compiler();
  return [
    overload("matches", "matches(string, string): bool", matches(compile)),
    overload("matches_string", "string.matches(string): bool", matches(compile)),
    overload("string_find_string", "string.find(string): string", find(compile)),
    overload("string_find_all_string", "string.findAll(string): list<string>", findAll(compile)),
    overload("string_find_all_string_int", "string.findAll(string, int): list<string>", findAll(compile)),
  ];
}
