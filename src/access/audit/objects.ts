/** Converts the bodies of requests and responses to one-line JSON for an audit event. Pure. */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";

/**
 * Maximum size of a body in an event. DIFFERS: kube-apiserver has no such limit, so clients determine the length of its
 * log lines.
 */
export const OBJECT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Decodes bodies that are not JSON, such as YAML and protobuf. Returns undefined for unknown media types. May throw.
 */
export type ReadBody = (bytes: Buffer, mediaType: string) => unknown;

export type ReadObject =
  | { readonly kind: "json"; readonly text: string; readonly value: unknown }
  /** The object is omitted; an annotation of the event reports why. */
  | { readonly kind: "omitted"; readonly why: string }
  /** The body is not valid JSON, so the handler rejects it. */
  | { readonly kind: "malformed" };

export function readAuditObject(
  bytes: Buffer,
  {
    mediaType,
    read,
    omitManagedFields,
  }: { readonly mediaType: string; readonly read: ReadBody | undefined; readonly omitManagedFields: boolean },
): ReadObject {
  if (bytes.length > OBJECT_BYTES_MAX) return { kind: "omitted", why: `${bytes.length} bytes` };
  const sent = parseJson(bytes);
  if (sent !== undefined) return omitManagedFields ? withoutManagedFields(sent) : sent;
  if (isJsonType(mediaType)) return { kind: "malformed" };
  const value = readOther(bytes, mediaType, read);
  if (value === undefined) return { kind: "omitted", why: mediaType };
  return textOf(value, omitManagedFields) ?? { kind: "omitted", why: mediaType };
}

/** Undefined if the value cannot be serialized. */
export function textOf(value: unknown, omitManagedFields: boolean): ReadObject | undefined {
  try {
    const shown = omitManagedFields ? stripped(value) : value;
    const text = JSON.stringify(shown);
    return text.length > OBJECT_BYTES_MAX
      ? { kind: "omitted", why: `${text.length} characters` }
      : { kind: "json", text, value: shown };
  } catch {
    // The value is nested deeper than the stack allows.
    return undefined;
  }
}

function isJsonType(mediaType: string): boolean {
  return mediaType === "" || mediaType === "application/json" || mediaType.endsWith("+json");
}

function parseJson(bytes: Buffer): (ReadObject & { kind: "json" }) | undefined {
  const text = bytes.toString("utf8");
  try {
    const value: unknown = JSON.parse(text);
    return { kind: "json", text: compactJson(text), value };
  } catch {
    // The body is not JSON; the caller checks the media type.
    return undefined;
  }
}

function readOther(bytes: Buffer, mediaType: string, read: ReadBody | undefined): unknown {
  try {
    return read?.(bytes, mediaType);
  } catch {
    // The handler reports the decoding error to the client.
    return undefined;
  }
}

/** Removes whitespace from well-formed JSON. In contrast to parsing, this keeps all digits of numbers. */
export function compactJson(text: string): string {
  let compact = "";
  let at = 0;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return compact + withoutBlanks(text.slice(at));
    const end = endOfString(text, quote);
    compact += withoutBlanks(text.slice(at, quote)) + text.slice(quote, end);
    at = end;
  }
}

function withoutBlanks(text: string): string {
  return text.replace(/[ \t\r\n]+/g, "");
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function withoutManagedFields(read: ReadObject & { kind: "json" }): ReadObject {
  const value = stripped(read.value);
  // DIFFERS: if managed fields were removed, integers beyond 2^53 lose digits.
  return value === read.value ? read : { kind: "json", text: JSON.stringify(value), value };
}

/**
 * As kubernetes audit/request.go#copyWithoutManagedFields: removes managed fields from an object, from list items and
 * from table rows.
 */
function stripped(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const { items, rows } = value;
  const own = strippedObject(value);
  if (Array.isArray(items) && items.some(hasManagedFields))
    return { ...own, items: items.map((item: unknown) => (isJsonObject(item) ? strippedObject(item) : item)) };
  if (Array.isArray(rows) && rows.some((row) => isJsonObject(row) && hasManagedFields(row["object"])))
    return { ...own, rows: rows.map(strippedRow) };
  return own;
}

function strippedRow(row: unknown): unknown {
  if (!isJsonObject(row) || !isJsonObject(row["object"])) return row;
  return { ...row, object: strippedObject(row["object"]) };
}

function strippedObject(object: JsonObject): JsonObject {
  if (!hasManagedFields(object)) return object;
  const { managedFields: _, ...metadata } = object["metadata"] as JsonObject;
  return { ...object, metadata };
}

function hasManagedFields(object: unknown): boolean {
  return isJsonObject(object) && isJsonObject(object["metadata"]) && Object.hasOwn(object["metadata"], "managedFields");
}
