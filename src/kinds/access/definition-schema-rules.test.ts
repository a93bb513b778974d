import { expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { schemaErrors } from "./definition-schema-rules.ts";

test.each<[string, JsonObject, readonly string[]]>([
  [
    "is fine",
    { type: "object", properties: { metadata: { type: "object", properties: { name: { type: "string" } } } } },
    [],
  ],
  [
    "says of everything what it is",
    {
      properties: {
        a: {},
        b: { type: "array" },
        c: { type: "array", items: {} },
        d: { "x-kubernetes-int-or-string": true },
      },
    },
    [
      "s.properties[a].type: Required value: must not be empty for specified object fields",
      "s.properties[b].items: Required value: must be specified",
      "s.properties[c].items.type: Required value: must not be empty for specified array items",
      "s.type: Required value: must not be empty at the root",
    ],
  ],
  [
    "is of an object, and of known types",
    { type: "map", additionalProperties: true },
    [
      "s.additionalProperties: Forbidden: must not be used at the root",
      's.type: Invalid value: "map": must be object at the root',
      's.type: Unsupported value: "map": supported values: "array", "boolean", "integer", "number", "object", "string"',
    ],
  ],
  [
    "leaves what every resource has as it is",
    { type: "object", properties: { kind: { type: "integer" }, metadata: { type: "object", required: ["name"] } } },
    [
      's.properties[kind].type: Invalid value: "integer": must be string',
      "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
    ],
  ],
  [
    "knows what lies inside an embedded resource, or keeps it",
    { type: "object", properties: { a: { "x-kubernetes-embedded-resource": true, type: "object" } } },
    [
      "s.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
    ],
  ],
])("a schema %s", (_what, schema, sentences) => {
  expect(schemaErrors(schema, "s").map(({ field, message }) => `${field}: ${message}`)).toEqual(sentences);
});
