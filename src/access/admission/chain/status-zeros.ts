/**
 * Adds an unset status to an object as Go serializes it, so that webhooks and policies can read it and patch its
 * fields.
 */
import { type JsonObject, stringAt } from "../../../meta/json.ts";
import type { FieldTable, ProtobufTables } from "../../../objects/protobuf/tables.ts";

/** Returns the object itself if it already has a status or its kind has no status field. */
export type WithStatus = (object: JsonObject) => JsonObject;

export function createStatusZeros(tables: () => ProtobufTables): WithStatus {
  const known = new Map<string, string | undefined>();
  const textOf = (apiVersion: string, kind: string): string | undefined => {
    const opened = tables();
    const message = opened.messageFor(apiVersion, kind);
    if (message === undefined) return undefined;
    if (!known.has(message)) known.set(message, statusText(message, opened));
    return known.get(message);
  };
  return (object) => {
    if (object["status"] !== undefined) return object;
    const text = textOf(stringAt(object, "apiVersion"), stringAt(object, "kind"));
    return text === undefined ? object : { ...object, status: JSON.parse(text) as unknown };
  };
}

function statusText(message: string, tables: ProtobufTables): string | undefined {
  const field = tables.message(message)?.fields.find(({ name }) => name === "status");
  if (field?.shape !== "value" || field.message === undefined) return undefined;
  return JSON.stringify(zeroStruct(field.message, tables));
}

function zeroStruct(message: string, tables: ProtobufTables): JsonObject {
  const zero: JsonObject = {};
  for (const field of tables.message(message)?.fields ?? []) {
    if (field.shape === "inline") Object.assign(zero, zeroStruct(field.message ?? "", tables));
    const value = zeroOf(field, tables);
    if (value !== undefined) zero[field.name] = value;
  }
  return zero;
}

/** Undefined if Go would omit the zero value of the field. */
function zeroOf({ shape, omitEmpty, scalar, message }: FieldTable, tables: ProtobufTables): unknown {
  if (shape === "inline") return undefined;
  if (shape !== "value") return omitEmpty ? undefined : null;
  // Go's omitempty does not apply to structs.
  if (message !== undefined) {
    const form = tables.message(message)?.form;
    if (form === "struct") return zeroStruct(message, tables);
    return form === "time" || form === "micro-time" ? null : undefined;
  }
  return omitEmpty || scalar === undefined ? undefined : ZEROS[scalar];
}

const ZEROS = { string: "", bytes: null, bool: false, int32: 0, int64: 0, double: 0 } as const;
