/** The CEL functions that convert between the basic types, such as int() and string(). */
import { parseDouble, parseInteger } from "../values/number-text.ts";
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from "../values/time-text.ts";
import { Duration, EvalError, Timestamp, TypeValue, typeName, Uint, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";
import { checkedInt, checkedUint } from "./operators.ts";
import { floorDivide, isInTimeRange, NANOS_PER_SECOND, TIMESTAMP_OVERFLOW } from "./time-arithmetic.ts";
import { goFloat } from "../../../meta/go-fmt.ts";

const INT_OVERFLOW = new EvalError("integer overflow");
const UINT_OVERFLOW = new EvalError("unsigned integer overflow");
const INT_LIMIT = 2 ** 63;
const UINT_LIMIT = 2 ** 64;

function notConvertible(to: string): EvalError {
  return new EvalError(`type conversion error from 'string' to '${to}'`);
}

function same(value: Value): Value {
  return value;
}

function doubleToInt(value: number): Value {
  return Number.isNaN(value) || value <= -INT_LIMIT || value >= INT_LIMIT ? INT_OVERFLOW : BigInt(Math.trunc(value));
}

function doubleToUint(value: number): Value {
  if (Number.isNaN(value) || value < 0 || value >= UINT_LIMIT) return UINT_OVERFLOW;
  return new Uint(BigInt(Math.trunc(value)));
}

function stringToInt(text: string): Value {
  const value = parseInteger(text);
  if (value === undefined || checkedInt(value) instanceof EvalError) return notConvertible("int");
  return value;
}

function stringToUint(text: string): Value {
  const value = /^\d/.test(text) ? parseInteger(text) : undefined;
  if (value === undefined) return notConvertible("uint");
  const checked = checkedUint(value);
  return checked instanceof Uint ? checked : notConvertible("uint");
}

function stringToBool(text: string): Value {
  if (["1", "t", "T", "true", "TRUE", "True"].includes(text)) return true;
  if (["0", "f", "F", "false", "FALSE", "False"].includes(text)) return false;
  return notConvertible("bool");
}

function stringToTimestamp(text: string): Value {
  const time = parseTimestamp(text);
  if (time === undefined) return notConvertible("google.protobuf.Timestamp");
  return isInTimeRange(floorDivide(time.nanos, NANOS_PER_SECOND)) ? time : TIMESTAMP_OVERFLOW;
}

function intToTimestamp(seconds: bigint): Value {
  return isInTimeRange(seconds) ? new Timestamp(seconds * NANOS_PER_SECOND) : TIMESTAMP_OVERFLOW;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function bytesToString(bytes: Uint8Array): Value {
  try {
    return UTF8.decode(bytes);
  } catch {
    return new EvalError("invalid UTF-8 in bytes, cannot convert to string");
  }
}

export const CONVERSIONS: readonly Overload[] = [
  overload("type", "type(A): type<A>", (value: Value) => new TypeValue(typeName(value))),
  overload("to_dyn", "dyn(A): dyn", same),
  overload("bool_to_bool", "bool(bool): bool", same),
  overload("string_to_bool", "bool(string): bool", stringToBool),
  overload("bytes_to_bytes", "bytes(bytes): bytes", same),
  overload("string_to_bytes", "bytes(string): bytes", (text: string) => Buffer.from(text, "utf8")),
  overload("double_to_double", "double(double): double", same),
  overload("int64_to_double", "double(int): double", Number),
  overload(
    "string_to_double",
    "double(string): double",
    (text: string) => parseDouble(text) ?? notConvertible("double"),
  ),
  overload("uint64_to_double", "double(uint): double", (value: Uint) => Number(value.value)),
  overload("duration_to_duration", "duration(duration): duration", same),
  overload("int64_to_duration", "duration(int): duration", (nanos: bigint) => new Duration(nanos)),
  overload(
    "string_to_duration",
    "duration(string): duration",
    (text: string) => parseDuration(text) ?? notConvertible("google.protobuf.Duration"),
  ),
  overload("int64_to_int64", "int(int): int", same),
  overload("double_to_int64", "int(double): int", doubleToInt),
  overload("duration_to_int64", "int(duration): int", (duration: Duration) => duration.nanos),
  overload("string_to_int64", "int(string): int", stringToInt),
  overload("timestamp_to_int64", "int(timestamp): int", (time: Timestamp) => floorDivide(time.nanos, NANOS_PER_SECOND)),
  overload("uint64_to_int64", "int(uint): int", (value: Uint) => checkedInt(value.value)),
  overload("string_to_string", "string(string): string", same),
  overload("bool_to_string", "string(bool): string", String),
  overload("bytes_to_string", "string(bytes): string", bytesToString),
  overload("double_to_string", "string(double): string", goFloat),
  overload("duration_to_string", "string(duration): string", formatDuration),
  overload("int64_to_string", "string(int): string", String),
  overload("timestamp_to_string", "string(timestamp): string", formatTimestamp),
  overload("uint64_to_string", "string(uint): string", (value: Uint) => String(value.value)),
  overload("timestamp_to_timestamp", "timestamp(timestamp): timestamp", same),
  overload("int64_to_timestamp", "timestamp(int): timestamp", intToTimestamp),
  overload("string_to_timestamp", "timestamp(string): timestamp", stringToTimestamp),
  overload("uint64_to_uint64", "uint(uint): uint", same),
  overload("double_to_uint64", "uint(double): uint", doubleToUint),
  overload("int64_to_uint64", "uint(int): uint", checkedUint),
  overload("string_to_uint64", "uint(string): uint", stringToUint),
];
