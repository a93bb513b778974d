/**
 * Finds fields in a schema that structural schemas do not have. A schema with such a field cannot be parsed as a
 * structural one.
 */
import { isJsonObject, objectsAt, type JsonObject } from "../../../meta/json.ts";
import { isMemberSet, SCHEMA_MEMBERS, type SchemaMember } from "./schema-members.ts";
import { itemsOf, PRESERVES, schemaEntries } from "./schema-node.ts";

/** The unsupported fields, with their names in kubernetes' messages. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["id", "id"],
  ["$schema", "schema"],
  ["$ref", "$ref"],
  ["patternProperties", "patternProperties"],
  ["dependencies", "dependencies"],
  ["additionalItems", "additionalItems"],
  ["definitions", "definitions"],
]);

const UNSUPPORTED: readonly (readonly [member: SchemaMember, name: string])[] = SCHEMA_MEMBERS.flatMap((member) => {
  const name = NAMES.get(member[1]);
  return name === undefined ? [] : [[member, name]];
});

/** Returns why the schema cannot be parsed as a structural one; undefined if it can. */
export function unreadableReason(schema: JsonObject): string | undefined {
  const own = ownReason(schema);
  if (own !== undefined) return own;
  const parts = [
    ...(isJsonObject(schema["not"]) ? [schema["not"]] : []),
    ...["allOf", "anyOf", "oneOf"].flatMap((key) => objectsAt(schema, key)),
  ];
  for (const part of parts) {
    const reason = unreadableReason(part);
    if (reason !== undefined) return reason;
  }
  if (schema[PRESERVES] === false) return `internal error: '${PRESERVES}' must be true or undefined`;
  if (Array.isArray(schema["items"]) && schema["items"].length > 0)
    return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  for (const part of partsBelow(schema)) {
    const reason = unreadableReason(part);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function* partsBelow(schema: JsonObject): Generator<JsonObject> {
  const items = itemsOf(schema);
  if (items !== undefined) yield items;
  for (const [, property] of schemaEntries(schema, "properties")) yield property;
  if (isJsonObject(schema["additionalProperties"])) yield schema["additionalProperties"];
}

function ownReason(schema: JsonObject): string | undefined {
  for (const [member, name] of UNSUPPORTED)
    if (isMemberSet(schema, member) && schema[member[1]] !== "") return `OpenAPIV3Schema '${name}' is not supported`;
  return undefined;
}
