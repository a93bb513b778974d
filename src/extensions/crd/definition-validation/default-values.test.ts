import { expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  toldOfProperty,
  toldOfSchema,
} from "../../../../test/testing/extensions/crd/definition-validation/definition.ts";

const RESOURCE = {
  type: "object",
  "x-kubernetes-embedded-resource": true,
  "x-kubernetes-preserve-unknown-fields": true,
};

test.each<[string, JsonObject, readonly string[]]>([
  ["is taken", { type: "object", properties: { b: { type: "string" } }, default: { b: "x" } }, []],
  ["is nothing", { type: "string", default: null }, []],
  [
    "is of its type",
    { type: "string", default: 5 },
    ['a.default: Invalid value: "integer":  in body must be of type string: "integer"'],
  ],
  [
    "is of what the schema knows, and as it says",
    { type: "object", properties: { b: { type: "integer", minimum: 3 } }, default: { b: 1, c: 2 } },
    [
      'a.default: Invalid value: {"b":1,"c":2}: must not have unknown fields',
      "a.default.b: Invalid value: 1: b in body should be greater than or equal to 3",
    ],
  ],
  [
    "is looked at in items, too",
    { type: "array", items: { type: "string", enum: ["x"], default: "y" } },
    ['a.items.default: Unsupported value: "y": supported values: "x"'],
  ],
  // As kubernetes: it does not look at these.
  ["is anything that may be an integer or a string", { "x-kubernetes-int-or-string": true, default: 1.5 }, []],
  ["is anything for who takes all", { type: "object", additionalProperties: { type: "string", default: 5 } }, []],
  [
    "is a resource where one is embedded",
    { ...RESOURCE, default: { kind: "-" } },
    [
      "a.default.apiVersion: Required value",
      expect.stringMatching(/^a\.default\.kind: Invalid value: "-": may have mixed case/) as string,
    ],
  ],
  [
    "is part of a resource",
    { ...RESOURCE, properties: { apiVersion: { type: "string", default: "a/b/c" } } },
    [
      'a.properties[apiVersion].default: Invalid value: "a/b/c": must result in valid metadata: apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ],
  ],
])("a default %s", (_what, property, sentences) => {
  expect(toldOfProperty(property)).toEqual(sentences);
});

test("defaults within one another are looked at as long as that can be borne", () => {
  const leaves = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`p${index}`, { type: "string" }]));
  let schema: JsonObject = { type: "object", properties: leaves, default: {} };
  for (let depth = 0; depth < 100; depth++) schema = { type: "object", properties: { a: schema }, default: {} };
  const sentences = toldOfSchema({ type: "object", properties: { a: schema } });
  expect(sentences.length).toBeGreaterThan(0);
  expect(sentences[0]).toMatch(/\.default: Forbidden: too many defaults lie within one another$/);
});
