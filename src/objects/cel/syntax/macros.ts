/** Expands macros such as has(), all() and map(), before the type check. */
import type { Value } from "../values/value.ts";
import type { Call, Comprehension, Expression, Ident, ListLiteral, Literal } from "./expression.ts";
import type { Issue } from "./issues.ts";

const ACCUMULATOR = "@result";
const OLD_ACCUMULATOR = "__result__";
const UNUSED = "#unused";

interface MacroCall {
  readonly position: number;
  readonly target: Expression | undefined;
  readonly args: readonly Expression[];
}

/** Returns the expansion of the call, or an issue. */
type Macro = (call: MacroCall) => Expression | Issue;

export function isIssue(value: Expression | Issue | string): value is Issue {
  return typeof value === "object" && !("kind" in value);
}

function literal(position: number, value: Value): Literal {
  return { kind: "literal", position, value };
}

function ident(position: number, name: string): Ident {
  return { kind: "ident", position, name };
}

function call(position: number, name: string, ...args: Expression[]): Call {
  return { kind: "call", position, name, target: undefined, args };
}

function list(position: number, ...elements: Expression[]): ListLiteral {
  return { kind: "list", position, elements, optional: new Set() };
}

function memberCall(position: number, name: string, target: Expression): Call {
  return { kind: "call", position, name, target, args: [] };
}

function variableName(arg: Expression | undefined, why: string): string | Issue {
  const position = arg?.position ?? 0;
  if (arg?.kind !== "ident") return { position, message: why };
  if (arg.name === ACCUMULATOR || arg.name === OLD_ACCUMULATOR)
    return { position, message: "iteration variable overwrites accumulator variable" };
  return arg.name;
}

interface Variables {
  readonly variable: string;
  readonly secondVariable: string | undefined;
}

function oneVariable(args: readonly Expression[], why: string): Variables | Issue {
  const variable = variableName(args[0], why);
  return typeof variable === "string" ? { variable, secondVariable: undefined } : variable;
}

const SIMPLE_NAME = "argument must be a simple name";

function twoVariables(args: readonly Expression[]): Variables | Issue {
  const [first, second] = args;
  for (const arg of [first, second])
    if (arg?.kind !== "ident") return { position: arg?.position ?? 0, message: SIMPLE_NAME };
  if (first?.kind === "ident" && second?.kind === "ident" && first.name === second.name)
    return { position: second.position, message: `duplicate variable name: ${first.name}` };
  const variable = variableName(first, SIMPLE_NAME);
  if (typeof variable !== "string") return variable;
  const secondVariable = variableName(second, SIMPLE_NAME);
  return typeof secondVariable === "string" ? { variable, secondVariable } : secondVariable;
}

type Loop = Pick<Comprehension, "initial" | "condition" | "step" | "result">;

function comprehension(macro: MacroCall, variables: Variables | Issue, loop: Loop): Expression | Issue {
  if ("message" in variables) return variables;
  const range = macro.target ?? list(macro.position);
  return { kind: "comprehension", position: macro.position, range, accumulator: ACCUMULATOR, ...variables, ...loop };
}

type Quantifier = (at: number, predicate: Expression) => Loop;

const all: Quantifier = (at, predicate) => ({
  initial: literal(at, true),
  condition: call(at, "@not_strictly_false", ident(at, ACCUMULATOR)),
  step: call(at, "_&&_", ident(at, ACCUMULATOR), predicate),
  result: ident(at, ACCUMULATOR),
});

const exists: Quantifier = (at, predicate) => ({
  initial: literal(at, false),
  condition: call(at, "@not_strictly_false", call(at, "!_", ident(at, ACCUMULATOR))),
  step: call(at, "_||_", ident(at, ACCUMULATOR), predicate),
  result: ident(at, ACCUMULATOR),
});

const existsOne: Quantifier = (at, predicate) => ({
  initial: literal(at, 0n),
  condition: literal(at, true),
  step: call(at, "_?_:_", predicate, call(at, "_+_", ident(at, ACCUMULATOR), literal(at, 1n)), ident(at, ACCUMULATOR)),
  result: call(at, "_==_", ident(at, ACCUMULATOR), literal(at, 1n)),
});

function quantifier(loop: Quantifier): Macro {
  return (macro) => {
    const variables = macro.args.length === 3 ? twoVariables(macro.args) : oneVariable(macro.args, SIMPLE_NAME);
    return comprehension(macro, variables, loop(macro.position, macro.args.at(-1) ?? list(0)));
  };
}

/** The step of a collecting macro, wrapped so that it runs only if the filter holds. */
function filtered(at: number, filter: Expression | undefined, step: Expression): Expression {
  return filter === undefined ? step : call(at, "_?_:_", filter, step, ident(at, ACCUMULATOR));
}

function collecting(at: number, step: Expression): Loop {
  return { initial: list(at), condition: literal(at, true), step, result: ident(at, ACCUMULATOR) };
}

function appending(at: number, element: Expression): Expression {
  return call(at, "_+_", ident(at, ACCUMULATOR), list(at, element));
}

const NOT_IDENTIFIER = "argument is not an identifier";

const mapMacro: Macro = (macro) => {
  const { position: at, args } = macro;
  const step = filtered(at, args.length === 3 ? args[1] : undefined, appending(at, args.at(-1) ?? list(at)));
  return comprehension(macro, oneVariable(args, NOT_IDENTIFIER), collecting(at, step));
};

const filterMacro: Macro = (macro) => {
  const { position: at, args } = macro;
  const [element, predicate] = args;
  const step = filtered(at, predicate, appending(at, element ?? list(at)));
  return comprehension(macro, oneVariable(args, NOT_IDENTIFIER), collecting(at, step));
};

const transformList: Macro = (macro) => {
  const { position: at, args } = macro;
  const step = filtered(at, args.length === 4 ? args[2] : undefined, appending(at, args.at(-1) ?? list(at)));
  return comprehension(macro, twoVariables(args), collecting(at, step));
};

function transformMap(isEntry: boolean): Macro {
  return (macro) => {
    const { position: at, args } = macro;
    const variables = twoVariables(args);
    const last = args.at(-1) ?? list(at);
    const key = "message" in variables ? "" : variables.variable;
    const accumulated = ident(at, ACCUMULATOR);
    const insert = isEntry
      ? call(at, "cel.@mapInsert", accumulated, last)
      : call(at, "cel.@mapInsert", accumulated, ident(at, key), last);
    const loop = collecting(at, filtered(at, args.length === 4 ? args[2] : undefined, insert));
    return comprehension(macro, variables, { ...loop, initial: { kind: "map", position: at, entries: [] } });
  };
}

const has: Macro = ({ position, args }) => {
  const [arg] = args;
  if (arg?.kind === "select" && !arg.isTest)
    return { kind: "select", position, operand: arg.operand, field: arg.field, isTest: true };
  return { position: arg?.position ?? position, message: "invalid argument to has() macro" };
};

/**
 * Expands `target.optMap(x, f(x))` to an optional of f(x), where x is the content of `target`; to optional.none() if
 * `target` has no content.
 */
function optionalMap(macroName: string, wrap: (at: number, mapped: Expression) => Expression): Macro {
  return ({ position: at, target, args }) => {
    const [variable, mapped] = args;
    if (variable?.kind !== "ident" || target === undefined || mapped === undefined)
      return {
        position: variable?.position ?? at,
        message: `${macroName}() variable name must be a simple identifier`,
      };
    const bound: Comprehension = {
      kind: "comprehension",
      position: at,
      range: list(at),
      variable: UNUSED,
      secondVariable: undefined,
      accumulator: variable.name,
      initial: memberCall(at, "value", target),
      condition: literal(at, false),
      step: ident(at, variable.name),
      result: mapped,
    };
    return call(at, "_?_:_", memberCall(at, "hasValue", target), wrap(at, bound), call(at, "optional.none"));
  };
}

const SORTED = "@__sortBy_input__";

/** Binds the list to a name, maps the list to the keys of its elements, and sorts the list by these keys. */
const sortBy: Macro = ({ position: at, target, args }) => {
  const keys = mapMacro({ position: at, target: ident(at, SORTED), args });
  if (isIssue(keys)) return keys;
  const sorted: Call = {
    kind: "call",
    position: at,
    name: "@sortByAssociatedKeys",
    target: ident(at, SORTED),
    args: [keys],
  };
  return {
    kind: "comprehension",
    position: at,
    range: list(at),
    variable: UNUSED,
    secondVariable: undefined,
    accumulator: SORTED,
    initial: target ?? list(at),
    condition: literal(at, false),
    step: ident(at, SORTED),
    result: sorted,
  };
};

const MACROS: ReadonlyMap<string, Macro> = new Map<string, Macro>([
  ["has:1:global", has],
  ["all:2", quantifier(all)],
  ["exists:2", quantifier(exists)],
  ["exists_one:2", quantifier(existsOne)],
  ["existsOne:2", quantifier(existsOne)],
  ["map:2", mapMacro],
  ["map:3", mapMacro],
  ["filter:2", filterMacro],
  ["optMap:2", optionalMap("optMap", (at, mapped) => call(at, "optional.of", mapped))],
  ["optFlatMap:2", optionalMap("optFlatMap", (_at, mapped) => mapped)],
]);

const TWO_VARIABLE_MACROS: ReadonlyMap<string, Macro> = new Map<string, Macro>([
  ["all:3", quantifier(all)],
  ["exists:3", quantifier(exists)],
  ["existsOne:3", quantifier(existsOne)],
  ["exists_one:3", quantifier(existsOne)],
  ["transformList:3", transformList],
  ["transformList:4", transformList],
  ["transformMap:3", transformMap(false)],
  ["transformMap:4", transformMap(false)],
  ["transformMapEntry:3", transformMap(true)],
  ["transformMapEntry:4", transformMap(true)],
]);

export interface MacroOptions {
  readonly hasTwoVariableMacros: boolean;
  readonly hasSortBy: boolean;
}

function macroOf(key: string, { hasTwoVariableMacros, hasSortBy }: MacroOptions): Macro | undefined {
  if (key === "sortBy:2") return hasSortBy ? sortBy : undefined;
  return MACROS.get(key) ?? (hasTwoVariableMacros ? TWO_VARIABLE_MACROS.get(key) : undefined);
}

/** The expansion of a macro call; any other call is returned itself. */
export function expandMacro(written: Call, options: MacroOptions): Expression | Issue {
  const { name, position, target, args } = written;
  const key = target === undefined ? `${name}:${args.length}:global` : `${name}:${args.length}`;
  const macro = macroOf(key, options);
  return macro === undefined ? written : macro({ position, target, args });
}
