/** Converts values that are messages in protobuf but not objects in JSON, such as times and quantities. */
import { describeSyntaxError, JSON_DEPTH_MAX, measureJson } from "../json/json-text.ts";
import { ProtobufDecodeError } from "./wire-reader.ts";

const YEAR_1 = -62_135_596_800;
const YEAR_10000 = 253_402_300_800;
const NANOS_PER_SECOND = 1_000_000_000;

const INT = 0;
const STRING = 1;

/** Formats seconds since 1970; null for Go's zero time. Fractions are dropped, as in Go. */
export function formatTime(seconds: number): string | null {
  if (seconds === YEAR_1) return null;
  return `${dateOf(seconds)}Z`;
}

export function formatMicroTime(seconds: number, nanos: number): string | null {
  const carry = Math.floor(nanos / NANOS_PER_SECOND);
  const rest = nanos - carry * NANOS_PER_SECOND;
  if (seconds + carry === YEAR_1 && rest === 0) return null;
  const micros = Math.floor(rest / 1000);
  return `${dateOf(seconds + carry)}.${String(micros).padStart(6, "0")}Z`;
}

/** Whole seconds since 1970; undefined for Go's zero time and for text that is not a time. */
export function secondsIn(text: string): number | undefined {
  const seconds = Math.floor(Date.parse(text) / 1000);
  return seconds > YEAR_1 && seconds < YEAR_10000 ? seconds : undefined;
}

/** The fraction of the second in microseconds. */
export function microsIn(text: string): number {
  const fraction = /\.(\d{1,6})/.exec(text)?.[1] ?? "";
  return Number(fraction.padEnd(6, "0"));
}

function dateOf(seconds: number): string {
  if (!(seconds >= YEAR_1 && seconds < YEAR_10000)) {
    throw new ProtobufDecodeError(
      `a time of the protobuf object is outside the years 1 to 9999: ${seconds} seconds since 1970`,
    );
  }
  return new Date(seconds * 1000).toISOString().slice(0, "2006-01-02T15:04:05".length);
}

export function intOrString(type: number, value: { readonly int: unknown; readonly string: unknown }): unknown {
  if (type === INT) return value.int;
  if (type === STRING) return value.string;
  throw new ProtobufDecodeError(`an int-or-string of the protobuf object has type ${type} instead of 0 or 1`);
}

/** Parses JSON that is stored as bytes; empty bytes are null. `depth`: the depth of the value in the object. */
export function parseRawJson(bytes: Buffer, depth: number): unknown {
  if (bytes.length === 0) return null;
  if (depth - 1 + measureJson(bytes).depth > JSON_DEPTH_MAX) {
    throw new ProtobufDecodeError(`the protobuf object nests deeper than ${JSON_DEPTH_MAX} levels`);
  }
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch (error) {
    const problem = describeSyntaxError(bytes);
    throw new ProtobufDecodeError(`the protobuf object contains raw bytes that are not JSON: ${problem}`, {
      cause: error,
    });
  }
}
