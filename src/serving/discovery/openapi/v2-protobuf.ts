/**
 * Encodes the OpenAPI 2 document in the protobuf form, which kubectl up to 1.28 and helm up to 3.13 require. The tables
 * below have the field numbers of the messages of openapi.v2.Document.
 */
import { WireWriter } from "../../../objects/protobuf/wire-writer.ts";
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import type { V2Encoder } from "./v2-encode.ts";
import { EntryTable, sourceOf, type V2Entry } from "./v2-source.ts";

/** Writes a value as a field of the message that the writer is writing. */
type Write = (writer: WireWriter, field: number, value: unknown) => void;

/** The fields of a message in ascending order: the number, the name in JSON, and the type. */
type Fields = readonly (readonly [number: number, key: string, write: Write])[];

const VARINT = 0;
const FIXED64 = 1;
/** Stands for all members whose name begins with "x-". */
const EXTENSIONS = "x-";

const text: Write = (writer, field, value) => {
  if (typeof value === "string" && value !== "") writer.text(field, value);
};
const bool: Write = (writer, field, value) => {
  if (value !== true) return;
  writer.varint(1);
  writer.tag(field, VARINT);
};
const integer: Write = (writer, field, value) => {
  if (typeof value !== "number" || value === 0) return;
  writer.varint(value);
  writer.tag(field, VARINT);
};
const real: Write = (writer, field, value) => {
  if (typeof value !== "number" || value === 0) return;
  writer.double(value);
  writer.tag(field, FIXED64);
};
/** The Any message has YAML text in its second field. JSON is valid YAML. */
const any: Write = (writer, field, value) => {
  const before = writer.size;
  writer.text(2, `${JSON.stringify(value)}\n`);
  writer.delimit(field, before);
};

function list(write: Write): Write {
  return (writer, field, value) => {
    if (Array.isArray(value)) for (const item of value.toReversed() as unknown[]) write(writer, field, item);
  };
}

function message(fields: () => Fields): Write {
  return (writer, field, value) => {
    if (!isJsonObject(value)) return;
    const before = writer.size;
    writeFields(writer, fields(), value);
    writer.delimit(field, before);
  };
}

function writeFields(writer: WireWriter, fields: Fields, value: JsonObject): void {
  for (let index = fields.length - 1; index >= 0; index--) {
    const [number, key, write] = fields[index] as Fields[number];
    const member = key === EXTENSIONS ? extensionsOf(value) : value[key];
    if (member !== undefined) write(writer, number, member);
  }
}

/** A message with a single field, which holds the value. */
function wrapped(field: number, write: Write): Write {
  return (writer, outer, value) => {
    const before = writer.size;
    write(writer, field, value);
    writer.delimit(outer, before);
  };
}

/** The members of an object as a repeated message of a name and a value. */
function named(write: Write): Write {
  return (writer, field, value) => {
    if (!isJsonObject(value)) return;
    for (const [name, member] of Object.entries(value).toReversed()) writeNamed(writer, field, [name, member, write]);
  };
}

function writeNamed(writer: WireWriter, field: number, [name, value, write]: readonly [string, unknown, Write]): void {
  const before = writer.size;
  write(writer, 2, value);
  writer.text(1, name);
  writer.delimit(field, before);
}

function extensionsOf(value: JsonObject): JsonObject | undefined {
  const names = Object.keys(value).filter((key) => key.startsWith(EXTENSIONS));
  return names.length === 0 ? undefined : Object.fromEntries(names.map((key) => [key, value[key]]));
}

const schema = message(() => SCHEMA);
const additionalProperties: Write = (writer, field, value) => {
  if (isJsonObject(value)) wrapped(1, schema)(writer, field, value);
  else wrapped(2, bool)(writer, field, value);
};
/** OpenAPI allows one type or several. */
const type: Write = (writer, field, value) => {
  const types = Array.isArray(value) ? (value as unknown[]) : [value];
  if (value !== "") wrapped(1, list(text))(writer, field, types);
};

const SCHEMA: Fields = [
  [1, "$ref", text],
  [2, "format", text],
  [3, "title", text],
  [4, "description", text],
  [5, "default", any],
  [6, "multipleOf", real],
  [7, "maximum", real],
  [8, "exclusiveMaximum", bool],
  [9, "minimum", real],
  [10, "exclusiveMinimum", bool],
  [11, "maxLength", integer],
  [12, "minLength", integer],
  [13, "pattern", text],
  [14, "maxItems", integer],
  [15, "minItems", integer],
  [16, "uniqueItems", bool],
  [17, "maxProperties", integer],
  [18, "minProperties", integer],
  [19, "required", list(text)],
  [20, "enum", list(any)],
  [21, "additionalProperties", additionalProperties],
  [22, "type", type],
  [23, "items", wrapped(1, schema)],
  [24, "allOf", list(schema)],
  [25, "properties", wrapped(1, (writer, field, value) => named(schema)(writer, field, value))],
  [26, "discriminator", text],
  [27, "readOnly", bool],
  [
    29,
    "externalDocs",
    message(() => [
      [1, "description", text],
      [2, "url", text],
    ]),
  ],
  [30, "example", any],
  [31, EXTENSIONS, named(any)],
];

const bodyParameter = message(() => [
  [1, "description", text],
  [2, "name", text],
  [3, "in", text],
  [4, "required", bool],
  [5, "schema", schema],
  [6, EXTENSIONS, named(any)],
]);
const queryParameter = message(() => [
  [1, "required", bool],
  [2, "in", text],
  [3, "description", text],
  [4, "name", text],
  [5, "allowEmptyValue", bool],
  [6, "type", text],
  [7, "format", text],
  [20, "uniqueItems", bool],
  [23, EXTENSIONS, named(any)],
]);
const pathParameter = message(() => [
  [1, "required", bool],
  [2, "in", text],
  [3, "description", text],
  [4, "name", text],
  [5, "type", text],
  [6, "format", text],
  [19, "uniqueItems", bool],
  [22, EXTENSIONS, named(any)],
]);

const parameter: Write = (writer, field, value) => {
  const place = isJsonObject(value) ? value["in"] : undefined;
  if (place === "body") wrapped(1, bodyParameter)(writer, field, value);
  else if (place === "query") wrapped(2, wrapped(3, queryParameter))(writer, field, value);
  else if (place === "path") wrapped(2, wrapped(4, pathParameter))(writer, field, value);
  else if (place === "header") wrapped(2, wrapped(1, pathParameter))(writer, field, value);
};
const reference = message(() => [[1, "$ref", text]]);
const parametersItem: Write = (writer, field, value) => {
  if (isJsonObject(value) && Object.hasOwn(value, "$ref")) wrapped(2, reference)(writer, field, value);
  else wrapped(1, parameter)(writer, field, value);
};

const response = message(() => [
  [1, "description", text],
  [2, "schema", wrapped(1, schema)],
  [5, EXTENSIONS, named(any)],
]);
const security = list(wrapped(1, named(wrapped(1, list(text)))));

const operation = message(() => [
  [1, "tags", list(text)],
  [2, "summary", text],
  [3, "description", text],
  [5, "operationId", text],
  [6, "produces", list(text)],
  [7, "consumes", list(text)],
  [8, "parameters", list(parametersItem)],
  [9, "responses", wrapped(1, (writer, field, value) => named(wrapped(1, response))(writer, field, value))],
  [10, "schemes", list(text)],
  [11, "deprecated", bool],
  [12, "security", security],
  [13, EXTENSIONS, named(any)],
]);

const pathItem = message(() => [
  [1, "$ref", text],
  [2, "get", operation],
  [3, "put", operation],
  [4, "post", operation],
  [5, "delete", operation],
  [6, "options", operation],
  [7, "head", operation],
  [8, "patch", operation],
  [9, "parameters", list(parametersItem)],
  [10, EXTENSIONS, named(any)],
]);

const apiKey = message(() => [
  [1, "type", text],
  [2, "name", text],
  [3, "in", text],
  [4, "description", text],
]);

/** The parts of the document other than its entries, before and after them. */
const HEAD: Fields = [
  [1, "swagger", text],
  [
    2,
    "info",
    message(() => [
      [1, "title", text],
      [2, "version", text],
      [3, "description", text],
    ]),
  ],
];
const TAIL: Fields = [
  [12, "security", security],
  [13, "securityDefinitions", wrapped(1, (writer, field, value) => named(wrapped(2, apiKey))(writer, field, value))],
];

/** For each section: the field of the document, the field of an entry within it, and the type of its value. */
const SECTIONS = {
  paths: { field: 8, entry: 2, write: pathItem },
  definitions: { field: 9, entry: 1, write: schema },
  parameters: { field: 10, entry: 1, write: parameter },
} as const;

export function encodeOpenApiV2(document: JsonObject): Buffer {
  const source = sourceOf(document);
  const encoder = createProtobufEncoder();
  for (const entry of source.entries()) encoder.add(entry);
  return encoder.finish(source.head);
}

export function createProtobufEncoder(): V2Encoder {
  const table = new EntryTable<Buffer>();
  const writer = new WireWriter();
  return {
    add(entry: V2Entry) {
      const { entry: field, write } = SECTIONS[entry.section];
      writeNamed(writer, field, [entry.name, entry.value, write]);
      table.add(entry, writer.take());
    },
    finish(head) {
      const parts: Buffer[] = [];
      const fields = (of: Fields): void => {
        writeFields(writer, of, head);
        parts.push(writer.take());
      };
      fields(HEAD);
      for (const section of ["paths", "definitions", "parameters"] as const) {
        const entries = table.of(section).map(([, bytes]) => bytes);
        writer.head(
          SECTIONS[section].field,
          entries.reduce((length, bytes) => length + bytes.length, 0),
        );
        parts.push(writer.take(), ...entries);
      }
      fields(TAIL);
      return Buffer.concat(parts);
    },
  };
}
