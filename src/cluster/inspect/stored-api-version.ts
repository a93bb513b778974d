/** Reads the API version of a stored value, if possible from its beginning alone. */
import { isJsonObject } from "../../meta/json.ts";
import { decodeEnvelope, isProtobufEnvelope, ProtobufDecodeError } from "../../objects/protobuf/decode.ts";

/** Number of bytes to decode: the kind and apiVersion of any object are within them. */
const HEAD_BYTES = 512;
const HEAD = /^\{(?:"kind":"[A-Za-z0-9]+","apiVersion":"([^"\\]+)"|"apiVersion":"([^"\\]+)","kind":"[A-Za-z0-9]+")[,}]/;
const API_VERSION = /^(?:[a-z0-9][a-z0-9.-]{0,252}\/)?[a-z0-9-]{1,63}$/;
const CLOSE = 0x7d;

/** Returns undefined if the value cannot be read: it is not an object, is truncated, or has an unknown encoding. */
export function storedApiVersion(value: Buffer): string | undefined {
  const said = isProtobufEnvelope(value) ? fromEnvelope(value) : (fromHead(value) ?? fromJson(value));
  return said !== undefined && API_VERSION.test(said) ? said : undefined;
}

/**
 * Reads the version from the beginning of the JSON, where all servers write kind and apiVersion. Of the rest only the
 * closing brace is checked, to detect a truncated value.
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
