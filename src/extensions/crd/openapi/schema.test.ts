import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { publishedListSchema, publishedSchema } from "./schema.ts";

const UNKNOWN = { "x-kubernetes-preserve-unknown-fields": true };
const INT_OR_STRING = { "x-kubernetes-int-or-string": true };
const TWO = [{ type: "integer" }, { type: "string" }];
const EMBEDDED = { type: "object", "x-kubernetes-embedded-resource": true };

/** Publishes the schema of one property, and returns the result for that property. */
function published(dialect: "v2" | "v3", value: JsonObject): unknown {
  const schema = publishedSchema({ type: "object", properties: { value } }, dialect, false);
  return (schema["properties"] as JsonObject)["value"];
}

describe("OpenAPI publishes a schema as written", () => {
  const WRITTEN: JsonObject = {
    type: "object",
    title: "T",
    description: "D",
    externalDocs: { url: "http://x" },
    example: { a: 1 },
    required: ["list"],
    "x-kubernetes-validations": [{ rule: "true" }],
    properties: {
      list: {
        type: "array",
        maxItems: 3,
        minItems: 0,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: { type: "object", required: ["name"], properties: { name: { type: "string", pattern: "^a" } } },
      },
      map: { type: "object", additionalProperties: { type: "integer", format: "int32", multipleOf: 2 } },
      open: { type: "object", additionalProperties: true },
      color: { type: "string", enum: ["red"], format: "custom", minLength: 1 },
      limit: { type: "number", maximum: 5, exclusiveMaximum: true },
    },
  };
  test.each(["v2", "v3"] as const)("in %s", (dialect) => expect(published(dialect, WRITTEN)).toEqual(WRITTEN));

  test("without fields that have no effect", () => {
    const silent = { type: "string", description: "", nullable: false, uniqueItems: false, enum: [], default: null };
    expect(published("v3", { ...silent, unheardOf: 1 })).toEqual({ type: "string" });
  });

  test("including a property named __proto__", () => {
    const value = { type: "object", properties: JSON.parse('{"__proto__":{"type":"string"}}') as JsonObject };
    expect(JSON.stringify(published("v2", value))).toBe(JSON.stringify(value));
  });
});

test.each([
  [{ type: "string", default: "a" }, { type: "string" }],
  [{ type: "object", nullable: true, properties: { a: { type: "string" } }, default: {} }, {}],
  [{ type: "array", nullable: true, items: { type: "string" } }, {}],
  [
    { type: "object", additionalProperties: { type: "string", nullable: true } },
    { type: "object", additionalProperties: {} },
  ],
  [
    { type: "object", ...UNKNOWN, properties: { a: { type: "string" } }, required: ["a"] },
    { ...UNKNOWN, required: ["a"] },
  ],
  [{ type: "array", ...UNKNOWN, items: { type: "string" } }, UNKNOWN],
  [{ type: "string", allOf: [{ minLength: 1 }], anyOf: [{}], oneOf: [{}], not: { pattern: "a" } }, { type: "string" }],
  [INT_OR_STRING, INT_OR_STRING],
  [
    { ...INT_OR_STRING, anyOf: TWO, pattern: "a" },
    { ...INT_OR_STRING, pattern: "a" },
  ],
  [
    { type: "object", required: ["a", "b"], properties: { a: { type: "string", nullable: true } } },
    { type: "object", required: ["b"], properties: { a: {} } },
  ],
  [
    { type: "object", required: ["a"], properties: { a: { type: "string", nullable: true } } },
    { type: "object", properties: { a: {} } },
  ],
  [
    { ...EMBEDDED, ...UNKNOWN },
    { "x-kubernetes-embedded-resource": true, ...UNKNOWN },
  ],
] satisfies [JsonObject, JsonObject][])("OpenAPI v2 publishes %j as %j", (written, shown) =>
  expect(published("v2", written)).toEqual(shown),
);

test.each([
  [
    { type: "string", nullable: true, default: "a" },
    { type: "string", nullable: true, default: "a" },
  ],
  [INT_OR_STRING, { ...INT_OR_STRING, anyOf: TWO }],
  [
    { ...INT_OR_STRING, anyOf: TWO },
    { ...INT_OR_STRING, anyOf: TWO },
  ],
  [
    { ...INT_OR_STRING, allOf: [{ anyOf: TWO }] },
    { ...INT_OR_STRING, allOf: [{ anyOf: TWO }] },
  ],
  [
    { ...INT_OR_STRING, anyOf: [{ pattern: "a" }], allOf: [{ pattern: "b" }] },
    { ...INT_OR_STRING, anyOf: [{ pattern: "a" }], allOf: [{ anyOf: TWO }, { pattern: "b" }] },
  ],
  [
    { type: "object", not: { properties: { a: { minimum: 1 } }, additionalProperties: { minimum: 1 } } },
    { type: "object", not: { properties: { a: { minimum: 1 } } } },
  ],
] satisfies [JsonObject, JsonObject][])("OpenAPI v3 publishes %j as %j", (written, shown) =>
  expect(published("v3", written)).toEqual(shown),
);

describe("the published schema of an object has apiVersion, kind and metadata", () => {
  const META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

  test.each([
    ["v2", { $ref: `#/definitions/${META}` }],
    ["v3", { allOf: [{ $ref: `#/components/schemas/${META}` }] }],
  ] as const)("in %s, whatever the CRD's schema specifies for them", (dialect, metadata) => {
    const raw = { type: "object", properties: { metadata: { type: "object" }, apiVersion: { type: "integer" } } };
    const { properties } = publishedSchema(raw, dialect, false);
    expect(properties).toMatchObject({ apiVersion: { type: "string" }, kind: { type: "string" }, metadata });
  });

  test("also if the object is embedded", () => {
    const embedded = { ...EMBEDDED, required: ["spec"], properties: { spec: { type: "object" } } };
    expect(published("v2", embedded)).toMatchObject({
      required: ["spec", "kind", "apiVersion"],
      properties: { spec: { type: "object" }, kind: { type: "string" }, metadata: { $ref: `#/definitions/${META}` } },
    });
  });
});

test.each([
  ["v2", undefined, false],
  ["v3", undefined, true],
  ["v2", { type: "object", ...UNKNOWN, properties: { a: { type: "string" } } }, false],
  ["v2", { type: "object", properties: { a: { type: "string" } } }, true],
] as const)(
  "OpenAPI %s publishes no properties for an object that preserves unknown fields",
  (dialect, raw, preserves) => expect(publishedSchema(raw, dialect, preserves)).toEqual({ type: "object" }),
);

test("the list kind is published with a list schema", () => {
  const list = { kind: "CronTab", listKind: "CronTabList", resource: "crontabs", model: "com.example.v1.CronTab" };
  expect(publishedListSchema(list, "v3")).toMatchObject({
    description: "CronTabList is a list of CronTab",
    required: ["items"],
    properties: { items: { type: "array", items: { $ref: "#/components/schemas/com.example.v1.CronTab" } } },
  });
});
