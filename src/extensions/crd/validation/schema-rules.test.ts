import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { CONTEXT, createErrorsOf } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "./crd-kind.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import { definitionOf, propertyErrors, schemaErrors } from "../../../../test/testing/extensions/crd/validation/crd.ts";

const TEXT = { type: "string" };
const IN_SET = "must be atomic as item of a list with x-kubernetes-list-type=set";

describe("a property", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    [
      "must have only supported members",
      { type: "object", id: "x", $ref: "#/x", definitions: { b: { type: "null" } }, dependencies: { c: ["d"] } },
      [
        "a.id: Forbidden: id is not supported",
        "a.definitions: Forbidden: definitions is not supported",
        "a.dependencies: Forbidden: dependencies is not supported",
        "a.$ref: Forbidden: $ref is not supported",
        'a.definitions[b].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
        "a.definitions[b].type: Forbidden: type cannot be set to null, use nullable as an alternative",
      ],
    ],
    [
      "must not have $schema",
      { type: "string", $schema: "x" },
      [`root: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`],
    ],
    [
      "must not have both properties and additionalProperties",
      { type: "object", properties: { b: TEXT }, additionalProperties: TEXT },
      ["a.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ],
    [
      "must not set x-kubernetes-preserve-unknown-fields to false",
      { type: "object", "x-kubernetes-preserve-unknown-fields": false },
      ["a.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    ],
    [
      "must have one schema for all items, and no uniqueItems",
      { type: "array", uniqueItems: true, items: [TEXT] },
      [
        "a.items: Forbidden: items must be a schema object and not an array",
        "a.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      ],
    ],
    [
      "must have no defaults in maps of metadata, and no resources in metadata",
      {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        properties: {
          metadata: {
            type: "object",
            properties: {
              labels: { type: "object", additionalProperties: { type: "string", default: "x" } },
              spec: { type: "object", "x-kubernetes-embedded-resource": true, properties: { b: TEXT } },
            },
          },
        },
      },
      [
        "a.properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata",
        "a.properties[metadata].properties[spec].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta",
      ],
    ],
  ])("%s", (_what, property, sentences) => {
    expect(propertyErrors(property)).toEqual(sentences);
  });

  test.each<[string, JsonObject, readonly string[]]>([
    [
      "must have a known type",
      { type: "array", "x-kubernetes-list-type": "bag", items: TEXT },
      ['a.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
    ],
    [
      "must have the type array",
      { type: "object", "x-kubernetes-list-type": "atomic", "x-kubernetes-map-type": "deep" },
      [
        'a.x-kubernetes-map-type: Unsupported value: "deep": supported values: "atomic", "granular"',
        'a.type: Invalid value: "object": must be array if x-kubernetes-list-type is specified',
      ],
    ],
    [
      "of type set must have atomic items",
      { type: "array", "x-kubernetes-list-type": "set", items: { type: "object", nullable: true } },
      [
        `a.items.x-kubernetes-map-type: Invalid value: null: ${IN_SET}`,
        "a.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
      ],
    ],
    [
      "must be of type map to have keys",
      { type: "array", "x-kubernetes-list-map-keys": ["b"], items: TEXT },
      ["a.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"],
    ],
    [
      "of type map must have keys, and items that are objects",
      { type: "array", "x-kubernetes-list-type": "map", items: TEXT },
      [
        "a.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        'a.items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
      ],
    ],
    [
      "of type map must have unique keys that every item has",
      {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["b", "b", "c", "d"],
        items: { type: "object", properties: { b: TEXT, d: { type: "object" } }, required: ["d"] },
      },
      [
        'a.x-kubernetes-list-map-keys: Invalid value: ["b","b","c","d"]: must not contain duplicate entries',
        'a.x-kubernetes-list-map-keys: Invalid value: ["b","b","c","d"]: entries must all be names of item properties',
        'a.items.properties[d].type: Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
        ...Array<string>(2).fill(
          "a.items.properties[b].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
      ],
    ],
  ])("that is a list %s", (_what, property, sentences) => {
    expect(propertyErrors(property)).toEqual(sentences);
  });
});

describe("the root of a schema", () => {
  test("must not have a default for apiVersion, kind or metadata, and must not be nullable", () => {
    const properties = { kind: { type: "string", default: "X" } };
    expect(schemaErrors({ type: "object", nullable: true, properties })).toEqual([
      "root.nullable: Forbidden: nullable cannot be true at the root",
      "root.properties[kind].default: Forbidden: must not be set in top-level kind",
    ]);
  });

  test("must contain nothing that a status update would not validate, if there is a status subresource", () => {
    const [sentence = "", ...others] = schemaErrors(
      { type: "object", maxProperties: 3, not: { required: ["<a>"] } },
      { subresources: { status: {} } },
    );
    expect(others).toEqual([]);
    expect(sentence).toMatch(/^root: Invalid value: \{"ID":"","Schema":"","Ref":null,.*"Type":"object",/);
    expect(sentence).toContain(String.raw`"Required":["\u003ca\u003e"]`);
    expect(sentence).toMatch(
      /: only \[Description Type .* XValidations\] fields are allowed at the root of the schema/,
    );
  });
});

describe("the text of a rule", () => {
  test.each<[rule: JsonObject, release: ReleaseName, sentences: string[]]>([
    [{ rule: " " }, "1.36", ["rule: Required value: rule is not specified"]],
    [{ rule: "true", message: " " }, "1.36", ['message: Invalid value: " ": must be non-empty if specified']],
    [
      { rule: "true", message: "a\nb" },
      "1.33",
      ['message: Invalid value: "a\\nb": message must not contain line breaks'],
    ],
    [{ rule: "true\n" }, "1.36", []],
    [
      { rule: "true\n&& true" },
      "1.36",
      ["message: Required value: message must be specified if rule contains line breaks"],
    ],
    [
      { rule: "true", messageExpression: " ", reason: "No" },
      "1.36",
      [
        "messageExpression: Required value: messageExpression must be non-empty if specified",
        'reason: Unsupported value: "No": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
      ],
    ],
    [{ rule: "true", fieldPath: ".b" }, "1.36", []],
    [{ rule: "true", fieldPath: ".c" }, "1.36", ['fieldPath: Invalid value: ".c": must be a valid path']],
    [{ rule: "true", fieldPath: "b" }, "1.33", ['fieldPath: Invalid value: "b": fieldPath must be a valid path']],
  ])("%j is validated in release %s", (rule, release, sentences) => {
    const a = { type: "object", properties: { b: TEXT }, "x-kubernetes-validations": [rule] };
    const at = "spec.validation.openAPIV3Schema.properties[a].x-kubernetes-validations[0].";
    const object = definitionOf({ type: "object", properties: { a } });
    expect(createErrorsOf(CUSTOM_RESOURCE_DEFINITION, object, { ...CONTEXT, gates: gatesOf(release) })).toEqual(
      sentences.map((sentence) => `${at}${sentence}`),
    );
  });
});
