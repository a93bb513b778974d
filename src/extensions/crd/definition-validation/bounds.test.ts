import { describe, expect, test } from "vitest";
import { firstErrors } from "../../../meta/field-errors.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { CONTEXT, prepared, warned } from "../../../../test/testing/objects/kinds/core/told.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "./definition-kind.ts";
import { patternSize } from "./pattern-size.ts";
import {
  definition,
  definitionOf,
  toldOfSchema,
  version,
} from "../../../../test/testing/extensions/crd/definition-validation/definition.ts";

function charactersTold(object: JsonObject): number {
  const errors = firstErrors(
    CUSTOM_RESOURCE_DEFINITION.createErrors?.(prepared(CUSTOM_RESOURCE_DEFINITION, object), CONTEXT) ?? [],
  );
  return errors.reduce((sum, { field, message }) => sum + field.length + message.length, 0);
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}`);
const schemas = (count: number): JsonObject => Object.fromEntries(names(count).map((name) => [name, {}]));

describe("of a definition with many mistakes only so much is told", () => {
  test.each<[string, JsonObject]>([
    ["properties without types", definitionOf({ type: "object", properties: schemas(4000) })],
    [
      "versions that are shown",
      definition({
        versions: [version("v1", { schema: { openAPIV3Schema: { properties: schemas(4000) } } }), version("v1")],
      }),
    ],
    [
      "keys of nothing",
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

  test("unknown formats are told a hundred times", () => {
    const properties = Object.fromEntries(names(300).map((name) => [name, { type: "string", format: name }]));
    expect(warned(CUSTOM_RESOURCE_DEFINITION, definitionOf({ type: "object", properties }))).toHaveLength(100);
  });
});

test("schemas are not looked into without end", () => {
  let schema: JsonObject = { type: "string" };
  for (let depth = 0; depth < 2000; depth++) schema = { type: "object", properties: { a: schema } };
  expect(toldOfSchema(schema)).toEqual(["root: Forbidden: schema is nested too deeply"]);
});

test.each([
  ["abc", 4],
  ["a{10}", 11],
  ["(ab){100}", 400],
  ["([a-z]{63}){10}", 650],
  [String.raw`\{1000\}[{}]`, 8],
])("the size of %s is about %i", (pattern, size) => {
  expect(patternSize(pattern)).toBeGreaterThanOrEqual(size);
  expect(patternSize(pattern)).toBeLessThan(size + 50);
});

test("patterns are only so large", () => {
  const property = { type: "string", pattern: "(?:[a-z]{1000})".repeat(200) };
  const properties = Object.fromEntries(names(10).map((name) => [name, property]));
  expect(toldOfSchema({ type: "object", properties })).toEqual(["root: Forbidden: patterns are too large"]);
});
