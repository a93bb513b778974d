import { expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { propertyErrors, schemaErrors } from "../../../../test/testing/extensions/crd/validation/crd.ts";

const RESOURCE = {
  type: "object",
  "x-kubernetes-embedded-resource": true,
  "x-kubernetes-preserve-unknown-fields": true,
};

test.each<[string, JsonObject, readonly string[]]>([
  ["is accepted if it is valid", { type: "object", properties: { b: { type: "string" } }, default: { b: "x" } }, []],
  ["of null is ignored", { type: "string", default: null }, []],
  [
    "must be of the type of the schema",
    { type: "string", default: 5 },
    ['a.default: Invalid value: "integer":  in body must be of type string: "integer"'],
  ],
  [
    "must have only specified fields, and valid values",
    { type: "object", properties: { b: { type: "integer", minimum: 3 } }, default: { b: 1, c: 2 } },
    [
      'a.default: Invalid value: {"b":1,"c":2}: must not have unknown fields',
      "a.default.b: Invalid value: 1: b in body should be greater than or equal to 3",
    ],
  ],
  [
    "is validated in items too",
    { type: "array", items: { type: "string", enum: ["x"], default: "y" } },
    ['a.items.default: Unsupported value: "y": supported values: "x"'],
  ],
  // As kubernetes: the defaults of the next two cases are not validated.
  ["of int-or-string is not validated", { "x-kubernetes-int-or-string": true, default: 1.5 }, []],
  [
    "in additionalProperties is not validated",
    { type: "object", additionalProperties: { type: "string", default: 5 } },
    [],
  ],
  [
    "of an embedded resource must be a resource",
    { ...RESOURCE, default: { kind: "-" } },
    [
      "a.default.apiVersion: Required value",
      expect.stringMatching(/^a\.default\.kind: Invalid value: "-": may have mixed case/) as string,
    ],
  ],
  [
    "in a resource must result in valid metadata",
    { ...RESOURCE, properties: { apiVersion: { type: "string", default: "a/b/c" } } },
    [
      'a.properties[apiVersion].default: Invalid value: "a/b/c": must result in valid metadata: apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ],
  ],
])("a default %s", (_what, property, sentences) => {
  expect(propertyErrors(property)).toEqual(sentences);
});

test("nested defaults are validated only up to a total number of schemas", () => {
  const leaves = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`p${index}`, { type: "string" }]));
  let schema: JsonObject = { type: "object", properties: leaves, default: {} };
  for (let depth = 0; depth < 100; depth++) schema = { type: "object", properties: { a: schema }, default: {} };
  const sentences = schemaErrors({ type: "object", properties: { a: schema } });
  expect(sentences.length).toBeGreaterThan(0);
  expect(sentences[0]).toMatch(/\.default: Forbidden: too many nested defaults$/);
});
