/**
 * Encodes the OpenAPI 2 document in the protobuf form that kubectl up to 1.28 and helm up to 3.13 require. It contains
 * only the parts that these clients read: PATCH operations with their query parameters and kind, and the definitions.
 * Field numbers are those of openapi.v2.Document.
 */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";

export function encodeOpenApiV2(document: JsonObject): Buffer {
  return message([
    text(1, stringAt(document, "swagger")),
    nested(2, infoMessage(objectAt(document, "info"))),
    nested(8, pathsMessage(objectAt(document, "paths"))),
    nested(9, namedEntries(1, objectAt(document, "definitions"), schemaMessage)),
  ]);
}

function infoMessage(info: JsonObject): Buffer {
  return message([text(1, stringAt(info, "title")), text(2, stringAt(info, "version"))]);
}

function pathsMessage(paths: JsonObject): Buffer {
  const patchable = Object.fromEntries(
    Object.entries(paths).filter(([, item]) => isJsonObject(item) && item["patch"] !== undefined),
  );
  return namedEntries(2, patchable, (item) => message([nested(8, operationMessage(objectAt(item, "patch")))]));
}

function operationMessage(operation: JsonObject): Buffer {
  const parameters = objectsAt(operation, "parameters");
  return message([
    ...strings(operation["consumes"]).map((type) => text(7, type)),
    ...parameters
      .filter((parameter) => parameter["in"] === "query")
      .map((parameter) => nested(8, queryParameterMessage(parameter))),
    nested(13, namedAny("x-kubernetes-group-version-kind", operation["x-kubernetes-group-version-kind"])),
  ]);
}

/** ParametersItem.parameter → Parameter.nonBodyParameter → NonBodyParameter.query */
function queryParameterMessage(parameter: JsonObject): Buffer {
  const subSchema = message([
    text(2, "query"),
    text(4, stringAt(parameter, "name")),
    text(6, stringAt(parameter, "type")),
  ]);
  return message([nested(1, message([nested(2, message([nested(3, subSchema)]))]))]);
}

function schemaMessage(schema: JsonObject): Buffer {
  const { additionalProperties, items } = schema;
  return message([
    text(1, stringAt(schema, "$ref")),
    text(2, stringAt(schema, "format")),
    ...strings(schema["required"]).map((name) => text(19, name)),
    ...strings(schema["enum"]).map((value) => nested(20, anyMessage(value))),
    ...(isJsonObject(additionalProperties)
      ? [nested(21, message([nested(1, schemaMessage(additionalProperties))]))]
      : []),
    ...(stringAt(schema, "type") === "" ? [] : [nested(22, message([text(1, stringAt(schema, "type"))]))]),
    ...(isJsonObject(items) ? [nested(23, message([nested(1, schemaMessage(items))]))] : []),
    ...(isJsonObject(schema["properties"]) ? [nested(25, namedEntries(1, schema["properties"], schemaMessage))] : []),
    ...Object.keys(schema)
      .filter((key) => key.startsWith("x-"))
      .map((key) => nested(31, namedAny(key, schema[key]))),
  ]);
}

/** Encodes the fields of an object as a repeated { name, value } message. */
function namedEntries(field: number, members: JsonObject, encode: (value: JsonObject) => Buffer): Buffer {
  return message(
    Object.entries(members).map(([name, value]) =>
      nested(field, message([text(1, name), nested(2, encode(isJsonObject(value) ? value : {}))])),
    ),
  );
}

function namedAny(name: string, value: unknown): Buffer {
  return message([text(1, name), nested(2, anyMessage(value))]);
}

/** The Any message carries YAML text. JSON is valid YAML. */
function anyMessage(value: unknown): Buffer {
  return message([text(2, `${JSON.stringify(value)}\n`)]);
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function message(parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts);
}

function text(field: number, value: string): Buffer {
  return value === "" ? EMPTY : nested(field, Buffer.from(value));
}

function nested(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
}

const EMPTY = Buffer.alloc(0);

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
