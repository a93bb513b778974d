import { describe, expect, test } from "vitest";
import { firstErrors } from "../../../meta/field-errors.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { CONTEXT, prepared, warningsOf } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "./crd-kind.ts";
import { patternSize } from "./pattern-size.ts";
import {
  definition,
  definitionOf,
  schemaErrors,
  version,
} from "../../../../test/testing/extensions/crd/validation/crd.ts";

function charactersTold(object: JsonObject): number {
  const errors = firstErrors(
    CUSTOM_RESOURCE_DEFINITION.createErrors?.(prepared(CUSTOM_RESOURCE_DEFINITION, object), CONTEXT) ?? [],
  );
  return errors.reduce((sum, { field, message }) => sum + field.length + message.length, 0);
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}`);
const schemas = (count: number): JsonObject => Object.fromEntries(names(count).map((name) => [name, {}]));

describe("the errors of a CRD with many mistakes are limited in size:", () => {
  test.each<[string, JsonObject]>([
    ["properties without types", definitionOf({ type: "object", properties: schemas(4000) })],
    [
      "versions that messages show",
      definition({
        versions: [version("v1", { schema: { openAPIV3Schema: { properties: schemas(4000) } } }), version("v1")],
      }),
    ],
    [
      "map keys without properties",
      definitionOf({
        type: "object",
        properties: {
          a: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": names(2000),
            items: { type: "object" },
          },
        },
      }),
    ],
  ])("%s", (_what, object) => {
    const characters = charactersTold(object);
    expect(characters).toBeGreaterThan(0);
    expect(characters).toBeLessThan(2_000_000);
  });

  test("at most a hundred unknown formats are reported", () => {
    const properties = Object.fromEntries(names(300).map((name) => [name, { type: "string", format: name }]));
    expect(warningsOf(CUSTOM_RESOURCE_DEFINITION, definitionOf({ type: "object", properties }))).toHaveLength(100);
  });
});

test("a schema that is nested too deeply is rejected", () => {
  let schema: JsonObject = { type: "string" };
  for (let depth = 0; depth < 2000; depth++) schema = { type: "object", properties: { a: schema } };
  expect(schemaErrors(schema)).toEqual(["root: Forbidden: schema is nested too deeply"]);
});

test.each([
  ["abc", 4],
  ["a{10}", 11],
  ["(ab){100}", 400],
  ["([a-z]{63}){10}", 650],
  [String.raw`\{1000\}[{}]`, 8],
])("patternSize of %s is at least %i and not much larger", (pattern, size) => {
  expect(patternSize(pattern)).toBeGreaterThanOrEqual(size);
  expect(patternSize(pattern)).toBeLessThan(size + 50);
});

test("patterns that are too large are rejected", () => {
  const property = { type: "string", pattern: "(?:[a-z]{1000})".repeat(200) };
  const properties = Object.fromEntries(names(10).map((name) => [name, property]));
  expect(schemaErrors({ type: "object", properties })).toEqual(["root: Forbidden: patterns are too large"]);
});
