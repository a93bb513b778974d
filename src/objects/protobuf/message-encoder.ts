/** Encodes one message and all nested messages by their tables, as described in encode.ts. */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { microsIn, secondsIn } from "./special-values.ts";
import type { FieldTable, MessageTable, ProtobufTables, ScalarType } from "./tables.ts";
import { VARINT } from "../../base/wire-reader.ts";
import { FIXED64, WireWriter } from "./wire-writer.ts";

const NANOS_PER_MICRO = 1000;

export class MessageEncoder {
  readonly #tables: ProtobufTables;
  readonly #writer = new WireWriter();

  constructor(tables: ProtobufTables) {
    this.#tables = tables;
  }

  encode(object: JsonObject, name: string): Buffer {
    this.#writer.clear();
    this.#message(name, object);
    return this.#writer.take();
  }

  /** Encodes the message as a length-delimited field of its parent. */
  encodeField(number: number, object: JsonObject, name: string): Buffer {
    this.#writer.clear();
    this.#nested(number, name, object);
    return this.#writer.take();
  }

  #nested(number: number, name: string, value: unknown): void {
    const before = this.#writer.size;
    this.#message(name, value);
    this.#writer.delimit(number, before);
  }

  #message(name: string, value: unknown): void {
    const table = this.#tables.message(name);
    if (table === undefined) return;
    if (table.form !== "struct") this.#special(table, value);
    else if (isJsonObject(value)) this.#members(table, value);
  }

  /** Writes the fields with the highest number first, because the writer writes backwards. */
  #members({ byNumber }: MessageTable, object: JsonObject): void {
    for (let number = byNumber.length - 1; number > 0; number--) {
      const field = byNumber[number];
      if (field === undefined) continue;
      if (field.shape === "inline") {
        this.#inline(field, object);
        continue;
      }
      const value = object[field.name];
      if (value !== undefined && value !== null) this.#field(field, value);
    }
  }

  #inline(field: FieldTable, object: JsonObject): void {
    const before = this.#writer.size;
    this.#message(field.message!, object);
    if (this.#writer.size > before) this.#writer.delimit(field.number, before);
  }

  #field(field: FieldTable, value: unknown): void {
    if (field.shape === "list") return this.#list(field, value);
    if (field.shape === "map") return this.#map(field, value);
    this.#value(field.number, field, value);
  }

  #list(field: FieldTable, items: unknown): void {
    if (!Array.isArray(items)) return;
    for (let at = items.length - 1; at >= 0; at--) this.#value(field.number, field, items[at]);
  }

  #map(field: FieldTable, map: unknown): void {
    if (!isJsonObject(map)) return;
    const keys = Object.keys(map);
    for (let at = keys.length - 1; at >= 0; at--) {
      const key = keys[at]!;
      const before = this.#writer.size;
      this.#value(2, field, map[key]);
      this.#writer.text(1, key);
      this.#writer.delimit(field.number, before);
    }
  }

  #value(number: number, field: FieldTable, value: unknown): void {
    if (field.scalar === undefined) this.#nested(number, field.message!, value);
    else this.#scalar(number, field.scalar, value);
  }

  /** Omits a value whose type differs from the table; clients cannot have sent such a value. */
  #scalar(number: number, type: ScalarType, value: unknown): void {
    if (typeof value === "string") {
      if (type === "string") this.#writer.text(number, value);
      else if (type === "bytes") this.#base64(number, value);
    } else if (typeof value === "number") {
      if (type === "int32" || type === "int64") this.#integer(number, value);
      else if (type === "double") this.#double(number, value);
    } else if (typeof value === "boolean" && type === "bool") {
      this.#integer(number, value ? 1 : 0);
    }
  }

  #base64(number: number, value: string): void {
    const bytes = Buffer.from(value, "base64");
    this.#writer.bytes(bytes);
    this.#writer.head(number, bytes.length);
  }

  #integer(number: number, value: number): void {
    this.#writer.varint(value);
    this.#writer.tag(number, VARINT);
  }

  #double(number: number, value: number): void {
    this.#writer.double(value);
    this.#writer.tag(number, FIXED64);
  }

  #special(table: MessageTable, value: unknown): void {
    switch (table.form) {
      case "time":
        return this.#time(value, false);
      case "micro-time":
        return this.#time(value, true);
      case "quantity":
        if (typeof value === "string" || typeof value === "number") this.#writer.text(1, String(value));
        return;
      case "int-or-string":
        if (typeof value === "number") return this.#integer(2, value);
        if (typeof value !== "string") return;
        this.#writer.text(3, value);
        return this.#integer(1, 1);
      case "raw-json":
        if (value !== undefined && value !== null) this.#writer.text(1, JSON.stringify(value));
        return;
      case "string-list":
        return this.#field(table.byNumber[1]!, value);
      case "schema-or-bool":
        if (isJsonObject(value)) this.#field(table.byNumber[2]!, value);
        return this.#field(table.byNumber[1]!, isJsonObject(value) || value);
      default:
        return this.#field(table.byNumber[Array.isArray(value) ? 2 : 1]!, value);
    }
  }

  /** An empty message is Go's zero time; it is also written for a value that is not a time. */
  #time(value: unknown, hasMicros: boolean): void {
    const seconds = typeof value === "string" ? secondsIn(value) : undefined;
    if (seconds === undefined) return;
    if (hasMicros) this.#integer(2, microsIn(value as string) * NANOS_PER_MICRO);
    this.#integer(1, seconds);
  }
}
