/** A protobuf encoder, for tests only. It writes objects as Go does, including every zero value. */
import { isJsonObject, type JsonObject } from "../../../../src/meta/json.ts";
import type { FieldTable, MessageTable, ProtobufTables, ScalarType } from "../../../../src/objects/protobuf/tables.ts";

export function encodeProtobufObject(object: JsonObject, tables: ProtobufTables): Buffer {
  const apiVersion = String(object["apiVersion"]);
  const kind = String(object["kind"]);
  const name = tables.messageFor(apiVersion, kind);
  if (name === undefined) throw new Error(`no message for ${apiVersion} ${kind}`);
  return encodeEnvelope({ apiVersion, kind, raw: new Encoder(tables).message(name, object) });
}

export function encodeEnvelope(parts: {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Buffer;
  readonly contentEncoding?: string;
  readonly contentType?: string;
}): Buffer {
  const typeMeta = Buffer.concat([text(1, parts.apiVersion), text(2, parts.kind)]);
  return Buffer.concat([
    Buffer.from("k8s\0"),
    delimited(1, typeMeta),
    delimited(2, parts.raw),
    text(3, parts.contentEncoding ?? ""),
    text(4, parts.contentType ?? ""),
  ]);
}

export function delimited(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

export function text(field: number, value: string): Buffer {
  return delimited(field, Buffer.from(value));
}

export function integer(field: number, value: number | bigint): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

class Encoder {
  readonly #tables: ProtobufTables;

  constructor(tables: ProtobufTables) {
    this.#tables = tables;
  }

  message(name: string, value: unknown): Buffer {
    const table = this.#tables.message(name);
    if (table === undefined) throw new Error(`no message ${name}`);
    if (table.form !== "struct") return this.#special(table, value);
    const object = isJsonObject(value) ? value : {};
    return Buffer.concat(table.fields.map((field) => this.#field(field, object)));
  }

  #field(field: FieldTable, object: JsonObject): Buffer {
    const value = object[field.name] ?? undefined;
    switch (field.shape) {
      case "inline":
        return delimited(field.number, this.message(field.message!, object));
      case "list":
        return Buffer.concat(((value ?? []) as unknown[]).map((item) => this.#value(field, item)));
      case "map":
        return Buffer.concat(Object.entries(value ?? {}).map((entry) => this.#entry(field, entry)));
      case "pointer":
        return value === undefined ? Buffer.alloc(0) : this.#value(field, value);
      default:
        return this.#value(field, value);
    }
  }

  #entry(field: FieldTable, [key, value]: [string, unknown]): Buffer {
    return delimited(field.number, Buffer.concat([text(1, key), this.#value({ ...field, number: 2 }, value)]));
  }

  #value(field: FieldTable, value: unknown): Buffer {
    if (field.scalar === undefined) return delimited(field.number, this.message(field.message!, value));
    return scalar(field.number, field.scalar, value);
  }

  #special(table: MessageTable, value: unknown): Buffer {
    const schema = (number: number): Buffer => this.#value(table.byNumber[number]!, value);
    switch (table.form) {
      case "time":
      case "micro-time":
        return typeof value === "string" ? timestamp(value) : Buffer.alloc(0);
      case "quantity":
        return text(1, typeof value === "string" ? value : "0");
      case "int-or-string":
        if (typeof value === "string") return Buffer.concat([integer(1, 1), integer(2, 0), text(3, value)]);
        return Buffer.concat([integer(1, 0), integer(2, Number(value ?? 0)), text(3, "")]);
      case "raw-json":
        return value === undefined ? Buffer.alloc(0) : text(1, JSON.stringify(value));
      case "string-list":
        return Buffer.concat(((value ?? []) as string[]).map((item) => text(1, item)));
      case "schema-or-array":
        return Array.isArray(value)
          ? Buffer.concat(value.map((item) => this.#value(table.byNumber[2]!, item)))
          : schema(1);
      case "schema-or-bool":
        return typeof value === "boolean" ? integer(1, Number(value)) : Buffer.concat([integer(1, 1), schema(2)]);
      default:
        return Array.isArray(value) ? Buffer.concat((value as string[]).map((item) => text(2, item))) : schema(1);
    }
  }
}

function timestamp(value: string): Buffer {
  const seconds = Date.parse(`${value.slice(0, 19)}Z`) / 1000;
  const micros = Number(/\.(\d{6})Z$/.exec(value)?.[1] ?? 0);
  return Buffer.concat([integer(1, seconds), integer(2, micros * 1000)]);
}

function scalar(number: number, type: ScalarType, value: unknown): Buffer {
  switch (type) {
    case "string":
      return text(number, typeof value === "string" ? value : "");
    case "bytes":
      return value === undefined ? Buffer.alloc(0) : delimited(number, Buffer.from(String(value), "base64"));
    case "double": {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(Number(value));
      return Buffer.concat([varint(number * 8 + 1), bytes]);
    }
    default:
      return integer(number, Number(value ?? 0));
  }
}
