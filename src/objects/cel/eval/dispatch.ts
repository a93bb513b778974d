/** Function dispatch at runtime: selects the overload that accepts the argument values, or returns an error. */
import type { Overload } from "../library/function.ts";
import type { Type } from "../types/type.ts";
import {
  Duration,
  EvalError,
  ListValue,
  MapValue,
  NO_SUCH_OVERLOAD,
  OpaqueValue,
  OptionalValue,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "../values/value.ts";

type Accepts = (value: Value) => boolean;

const ANYTHING: Accepts = () => true;

const ACCEPTS: Partial<Record<Type["kind"], Accepts>> = {
  bool: (value) => typeof value === "boolean",
  bytes: (value) => value instanceof Uint8Array,
  double: (value) => typeof value === "number",
  duration: (value) => value instanceof Duration,
  int: (value) => typeof value === "bigint",
  list: (value) => value instanceof ListValue,
  map: (value) => value instanceof MapValue,
  null: (value) => value === null,
  string: (value) => typeof value === "string",
  timestamp: (value) => value instanceof Timestamp,
  type: (value) => value instanceof TypeValue,
  uint: (value) => value instanceof Uint,
};

function acceptorOf(type: Type): Accepts {
  if (type.kind === "opaque" && type.name === "optional_type") return (value) => value instanceof OptionalValue;
  if (type.kind === "opaque" || type.kind === "struct")
    return (value) => value instanceof OpaqueValue && value.typeName === type.name;
  return ACCEPTS[type.kind] ?? ANYTHING;
}

/** Functions whose "no such overload" error names neither the function nor its argument types, as in cel-go. */
const SILENT: ReadonlySet<string> = new Set([
  "matches",
  "startsWith",
  "endsWith",
  "contains",
  "getFullYear",
  "getMonth",
  "getDayOfYear",
  "getDate",
  "getDayOfMonth",
  "getDayOfWeek",
  "getHours",
  "getMinutes",
  "getSeconds",
  "getMilliseconds",
]);

function noSuchOverload(name: string, args: readonly Value[]): EvalError {
  if (SILENT.has(name)) return NO_SUCH_OVERLOAD;
  return new EvalError(`no such overload: ${name}(${args.map(typeName).join(", ")})`);
}

type Invoke = (args: readonly Value[]) => Value;

/**
 * If all overloads of an operator or of `size` share one implementation, the implementation checks the types of the
 * values itself.
 */
export function invokerOf(name: string, overloads: readonly Overload[]): Invoke {
  const calls = new Set(overloads.map((one) => one.call));
  const [only] = calls;
  if (calls.size === 1 && only !== undefined && /\W|^size$/.test(name.replaceAll(".", "")))
    return (args) => only(...(args as never[]));
  const candidates = overloads.map(({ call, args }) => ({ call, accepts: args.map(acceptorOf) }));
  return (args) => {
    for (const { call, accepts } of candidates)
      if (accepts.length === args.length && accepts.every((isAccepted, index) => isAccepted(args[index] ?? null)))
        return call(...(args as never[]));
    return noSuchOverload(name, args);
  };
}
