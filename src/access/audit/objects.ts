/** Bodies of requests and answers, as an event can hold them: JSON in one line. Pure. */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";

/** What an event may hold of a body; kube-apiserver has no such bound, and its lines grow with what clients send. */
export const OBJECT_BYTES_MAX = 8 * 1024 * 1024;

/** Reads what is not JSON: YAML, protobuf. Undefined when it cannot. May throw. */
export type ReadBody = (bytes: Buffer, mediaType: string) => unknown;

export type ReadObject =
  | { readonly kind: "json"; readonly text: string; readonly value: unknown }
  /** For a reason that the event should give. */
  | { readonly kind: "omitted"; readonly why: string }
  /** Nothing that anybody could have understood. */
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

/** Undefined for what cannot be written. */
export function textOf(value: unknown, omitManagedFields: boolean): ReadObject | undefined {
  try {
    const shown = omitManagedFields ? stripped(value) : value;
    const text = JSON.stringify(shown);
    return text.length > OBJECT_BYTES_MAX
      ? { kind: "omitted", why: `${text.length} characters` }
      : { kind: "json", text, value: shown };
  } catch {
    // Deeper than the stack.
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
    // Not JSON, whatever it was called.
    return undefined;
  }
}

function readOther(bytes: Buffer, mediaType: string, read: ReadBody | undefined): unknown {
  try {
    return read?.(bytes, mediaType);
  } catch {
    // Whoever answers the request tells the client.
    return undefined;
  }
}

/** The text of well-formed JSON without blanks and line feeds: numbers stay as they were written. */
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
  // DIFFERS: integers beyond 2^53 lose digits where something was left out.
  return value === read.value ? read : { kind: "json", text: JSON.stringify(value), value };
}

/** As kubernetes audit/request.go#copyWithoutManagedFields: of objects, the items of lists and the rows of tables. */
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
