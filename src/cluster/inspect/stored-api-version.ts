/** Reads the version in which a value is stored from as little of it as possible. */
import { isJsonObject } from "../../meta/json.ts";
import { decodeEnvelope, isProtobufEnvelope, ProtobufDecodeError } from "../../objects/protobuf/decode.ts";

/** Longer than the beginning of any value whose kind and apiVersion are names. */
const HEAD_BYTES = 512;
const HEAD = /^\{(?:"kind":"[A-Za-z0-9]+","apiVersion":"([^"\\]+)"|"apiVersion":"([^"\\]+)","kind":"[A-Za-z0-9]+")[,}]/;
const API_VERSION = /^(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[a-z0-9-]{1,63}$/;
const CLOSE = 0x7d;

/** Undefined if the value cannot be read: not an object, truncated, or in an unknown encoding. */
export function storedApiVersion(value: Buffer): string | undefined {
  const said = isProtobufEnvelope(value) ? fromEnvelope(value) : (fromHead(value) ?? fromJson(value));
  return said !== undefined && API_VERSION.test(said) ? said : undefined;
}

/**
 * Values that servers write begin so. Of the rest only the end is checked, which shows whether the value is truncated.
 */
function fromHead(value: Buffer): string | undefined {
  let end = value.length;
  while (end > 0 && value[end - 1]! <= 0x20) end--;
  if (value[end - 1] !== CLOSE) return undefined;
  const match = HEAD.exec(value.toString("latin1", 0, HEAD_BYTES));
  return match?.[1] ?? match?.[2];
}

function fromJson(value: Buffer): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value.toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isJsonObject(parsed) || typeof parsed["kind"] !== "string") return undefined;
  const { apiVersion } = parsed;
  return typeof apiVersion === "string" ? apiVersion : undefined;
}

function fromEnvelope(value: Buffer): string | undefined {
  try {
    const { apiVersion, kind } = decodeEnvelope(value);
    return kind === "" ? undefined : apiVersion;
  } catch (thrown) {
    if (thrown instanceof ProtobufDecodeError) return undefined;
    throw thrown;
  }
}
