import { expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { readSchema } from "./read-schema.ts";

test("unknown, empty and null fields are dropped at every level of a schema", () => {
  const noise = { unknown: 1, title: "", nullable: false, required: [], default: null, enum: [null, {}] };
  const kept = { enum: [null, {}] };
  expect(
    readSchema({
      type: "array",
      items: { ...noise, additionalProperties: noise, not: noise },
      dependencies: { a: ["b"], c: noise },
      "x-kubernetes-validations": [{ rule: "true", message: "", more: 1 }],
    }),
  ).toEqual({
    type: "array",
    items: { ...kept, additionalProperties: kept, not: kept },
    dependencies: { a: ["b"], c: kept },
    "x-kubernetes-validations": [{ rule: "true" }],
  });
});

test("a field that may hold a schema or another value keeps its form", () => {
  const schema = { items: [{ type: "string" }], additionalProperties: false, additionalItems: true };
  expect(readSchema(schema)).toEqual(schema);
  expect(readSchema({ items: "none" })).toEqual({});
});

test("any property name is allowed", () => {
  const properties: unknown = JSON.parse('{ "__proto__": { "items": { "type": "string" } }, "constructor": {} }');
  expect(JSON.stringify(readSchema({ properties }))).toBe(JSON.stringify({ properties }));
});

const PATH = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema";

test.each<[JsonObject, string]>([
  [{ items: { type: 5 } }, `json: cannot unmarshal number into Go struct field ${PATH}.items.type of type string`],
  [
    { properties: { a: { items: { maxLength: 1.5 } } } },
    `json: cannot unmarshal number 1.5 into Go struct field ${PATH}.properties.items.maxLength of type int64`,
  ],
  [
    { items: { required: [true] } },
    `json: cannot unmarshal bool into Go struct field ${PATH}.items.required of type string`,
  ],
  [
    { items: { properties: [] } },
    `json: cannot unmarshal array into Go struct field ${PATH}.items.properties of type map[string]v1.JSONSchemaProps`,
  ],
  [{ additionalProperties: 1 }, "boolean or JSON schema expected"],
])("a field of the wrong type is rejected: %j", (schema, sentence) => {
  expect(() => readSchema(schema)).toThrow(
    new StatusError(
      "BadRequest",
      `CustomResourceDefinition in version "v1" cannot be handled as a CustomResourceDefinition: ${sentence}`,
    ),
  );
});
