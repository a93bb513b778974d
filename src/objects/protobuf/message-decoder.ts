/** Decodes one message and all nested messages by their tables, as described in decode.ts. */
import type { Ranges } from "../../base/wire-reader.ts";
import { setMember, type JsonObject } from "../../meta/json.ts";
import { JSON_DEPTH_MAX } from "../json/json-text.ts";
import { formatMicroTime, formatTime, intOrString, parseRawJson } from "./special-values.ts";
import type { FieldTable, MessageTable, ProtobufTables, ScalarType } from "./tables.ts";
import { MessageReader, ProtobufDecodeError } from "./wire-reader.ts";

/**
 * Limit of messages in an object, more than any real object of 3 MB has. An empty list item takes two bytes and becomes
 * an object with all of its always-serialized fields, so the length of a body does not limit the size of the result.
 */
export const MESSAGES_MAX = 300_000;

const NO_BYTES = Buffer.alloc(0);
const NO_RANGES: Ranges = Object.freeze([]);

/**
 * The content of each field, by its position in the table: undefined for an absent field, otherwise the result of
 * `readSlot`.
 */
type Slots = readonly unknown[];

/** The bytes of a message, and its depth in the JSON object. */
interface Part {
  readonly ranges: Ranges;
  readonly depth: number;
}

export function decodeMessage(bytes: Buffer, name: string, tables: ProtobufTables): JsonObject {
  const object: JsonObject = {};
  new MessageDecoder(bytes, tables).addMembers(object, name, { ranges: [0, bytes.length], depth: 1 });
  return object;
}

class MessageDecoder {
  readonly #bytes: Buffer;
  readonly #tables: ProtobufTables;
  #messages = 0;

  constructor(bytes: Buffer, tables: ProtobufTables) {
    this.#bytes = bytes;
    this.#tables = tables;
  }

  addMembers(object: JsonObject, name: string, part: Part): void {
    this.#addTableMembers(object, this.#table(name, part.depth), part);
  }

  #addTableMembers(object: JsonObject, table: MessageTable, { ranges, depth }: Part): void {
    const slots = this.#readSlots(table, ranges);
    for (const field of table.fields) {
      const slot = slots[field.position];
      if (field.shape === "inline") {
        this.addMembers(object, field.message!, { ranges: rangesIn(slot), depth });
        continue;
      }
      const value = this.#fieldValue(field, slot, depth + 1);
      if (value !== undefined) object[field.name] = value;
    }
  }

  #table(name: string, depth: number): MessageTable {
    const table = this.#tables.message(name);
    if (table === undefined) throw new ProtobufDecodeError(`unknown protobuf message ${name}`);
    if (depth > JSON_DEPTH_MAX) throw tooDeep();
    if (++this.#messages > MESSAGES_MAX) {
      throw new ProtobufDecodeError(`the protobuf object contains more than ${MESSAGES_MAX} messages`);
    }
    return table;
  }

  /** Only locates nested messages, which are decoded later, so that every byte is read once per level. */
  #readSlots(table: MessageTable, ranges: Ranges): Slots {
    const slots: unknown[] = [];
    for (let at = 0; at < ranges.length; at += 2) {
      const reader = new MessageReader(this.#bytes, ranges[at]!, ranges[at + 1]!, table.name);
      while (reader.next()) {
        const field = table.byNumber[reader.field];
        if (field === undefined) reader.skip();
        else slots[field.position] = readSlot(reader, field, slots[field.position]);
      }
    }
    return slots;
  }

  /** The JSON value of a field; undefined if Go's JSON would omit the field. */
  #fieldValue(field: FieldTable, slot: unknown, depth: number): unknown {
    const value = this.#shownValue(field, slot, depth);
    return value === null && field.omitEmpty && !isStruct(field) ? undefined : value;
  }

  #shownValue(field: FieldTable, slot: unknown, depth: number): unknown {
    switch (field.shape) {
      case "map":
        return slot === undefined ? null : this.#map(field, rangesIn(slot), depth);
      case "list":
        return slot === undefined ? null : this.#list(field, slot, depth);
      case "pointer":
        if (slot === undefined) return null;
        return field.scalar === undefined ? this.#message(field.message!, rangesIn(slot), depth) : toJson(slot);
      default:
        if (field.scalar === undefined) return this.#message(field.message!, rangesIn(slot), depth);
        return scalarValue(field, field.scalar, slot);
    }
  }

  #list(field: FieldTable, slot: unknown, depth: number): unknown {
    if (field.scalar !== undefined) return (slot as unknown[]).length === 0 ? null : slot;
    const ranges = rangesIn(slot);
    const items: unknown[] = [];
    for (let at = 0; at < ranges.length; at += 2) {
      items.push(this.#message(field.message!, [ranges[at]!, ranges[at + 1]!], depth + 1));
    }
    return items;
  }

  #map(field: FieldTable, entries: Ranges, depth: number): JsonObject {
    const map: JsonObject = {};
    for (let at = 0; at < entries.length; at += 2) {
      const reader = new MessageReader(this.#bytes, entries[at]!, entries[at + 1]!, `of an entry of ${field.name}`);
      let key = "";
      let scalar: unknown;
      let ranges = NO_RANGES;
      while (reader.next()) {
        if (reader.field === 1) key = reader.string();
        else if (reader.field !== 2) reader.skip();
        else if (field.scalar === undefined) ranges = reader.range();
        else scalar = readScalar(reader, field.scalar);
      }
      const value =
        field.scalar === undefined
          ? this.#message(field.message!, ranges, depth + 1)
          : toJson(scalar ?? zeroOf(field.scalar));
      setMember(map, key, value);
    }
    return map;
  }

  #message(name: string, ranges: Ranges, depth: number): unknown {
    const table = this.#table(name, depth);
    if (table.form !== "struct") return this.#special(table, { ranges, depth });
    const object: JsonObject = {};
    this.#addTableMembers(object, table, { ranges, depth });
    return object;
  }

  #special(table: MessageTable, { ranges, depth }: Part): unknown {
    const slots = this.#readSlots(table, ranges);
    const slot = (number: number): unknown => slots[table.byNumber[number]?.position ?? -1];
    switch (table.form) {
      case "time":
        return isEmpty(ranges) ? null : formatTime(numberIn(slot(1)));
      case "micro-time":
        return isEmpty(ranges) ? null : formatMicroTime(numberIn(slot(1)), numberIn(slot(2)));
      case "quantity":
        return slot(1) ?? "0";
      case "int-or-string":
        return intOrString(numberIn(slot(1)), { int: slot(2) ?? 0, string: slot(3) ?? "" });
      case "raw-json":
        return parseRawJson((slot(1) ?? NO_BYTES) as Buffer, depth);
      case "string-list":
        return slot(1) ?? [];
      case "schema-or-array":
        return this.#shownValue(table.byNumber[slot(2) === undefined ? 1 : 2]!, slot(2) ?? slot(1), depth);
      case "schema-or-bool":
        return this.#shownValue(table.byNumber[2]!, slot(2), depth) ?? slot(1) === true;
      case "schema-or-strings":
        return slot(2) ?? this.#shownValue(table.byNumber[1]!, slot(1), depth);
      default:
        throw new ProtobufDecodeError(`the protobuf message ${table.name} has no JSON form`);
    }
  }
}

/**
 * The content of a field after one more occurrence: the last value of a scalar, all values of a list of scalars,
 * otherwise the ranges of its messages or map entries. A message that occurs twice is decoded from the ranges of both
 * occurrences.
 */
function readSlot(reader: MessageReader, field: FieldTable, before: unknown): unknown {
  if (field.scalar === undefined || field.shape === "map") {
    const ranges = (before ?? []) as number[];
    reader.appendRange(ranges);
    return ranges;
  }
  if (field.shape !== "list") return readScalar(reader, field.scalar);
  const values = (before ?? []) as unknown[];
  readItems(reader, field.scalar, values);
  return values;
}

function readItems(reader: MessageReader, scalar: ScalarType, values: unknown[]): void {
  if (scalar === "bool") reader.appendBools(values);
  else if (scalar === "int32") reader.appendInt32s(values);
  else if (scalar === "int64") reader.appendInt64s(values);
  else values.push(toJson(readScalar(reader, scalar)));
}

function readScalar(reader: MessageReader, scalar: ScalarType): unknown {
  switch (scalar) {
    case "string":
      return reader.string();
    case "bytes":
      return reader.bytes();
    case "bool":
      return reader.bool();
    case "int32":
      return reader.int32();
    case "int64":
      return reader.int64();
    case "double":
      return reader.double();
  }
}

function scalarValue(field: FieldTable, scalar: ScalarType, slot: unknown): unknown {
  // Go distinguishes absent bytes from empty bytes, and writes absent bytes as null.
  if (scalar === "bytes" && slot === undefined) return null;
  const value = toJson(slot ?? zeroOf(scalar));
  return field.omitEmpty && (value === "" || value === 0 || value === false) ? undefined : value;
}

/**
 * Whether the field is a struct in Go, such as a time: Go's JSON writes its zero as null even if the field is `omitempty`,
 * because it treats no struct as empty. The creation timestamp is `omitzero`.
 */
function isStruct({ shape, message, name }: FieldTable): boolean {
  return shape === "value" && message !== undefined && name !== "creationTimestamp";
}

function zeroOf(scalar: ScalarType): unknown {
  if (scalar === "string" || scalar === "bytes") return "";
  return scalar === "bool" ? false : 0;
}

function toJson(scalar: unknown): unknown {
  return Buffer.isBuffer(scalar) ? scalar.toString("base64") : scalar;
}

function rangesIn(slot: unknown): Ranges {
  return slot === undefined ? NO_RANGES : (slot as Ranges);
}

/**
 * Whether the message of a time has no bytes, which encodes Go's zero time. A time whose fields are 0 is in the year
 * 1970.
 */
function isEmpty(ranges: Ranges): boolean {
  for (let at = 0; at < ranges.length; at += 2) if (ranges[at] !== ranges[at + 1]) return false;
  return true;
}

function numberIn(slot: unknown): number {
  return typeof slot === "number" ? slot : 0;
}

function tooDeep(): ProtobufDecodeError {
  return new ProtobufDecodeError(`the protobuf object nests deeper than ${JSON_DEPTH_MAX} levels`);
}
