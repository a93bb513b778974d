import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { CONTEXT, createErrorsOf } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "./crd-kind.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import { definitionOf, propertyErrors, schemaErrors } from "../../../../test/testing/extensions/crd/validation/crd.ts";

const OBJECT_META = "must not specify anything other than name and generateName, but metadata is implicitly specified";

describe("a schema", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    [
      "is accepted if it is structural",
      { type: "object", properties: { metadata: { type: "object", properties: { name: { type: "string" } } } } },
      [],
    ],
    [
      "must specify the type of every value",
      {
        properties: {
          a: {},
          b: { type: "array" },
          c: { type: "array", items: {} },
          d: { "x-kubernetes-int-or-string": true },
          e: { type: "object", additionalProperties: {} },
        },
      },
      [
        "root.properties[a].type: Required value: must not be empty for specified object fields",
        "root.properties[b].items: Required value: must be specified",
        "root.properties[c].items.type: Required value: must not be empty for specified array items",
        "root.properties[e].additionalProperties.type: Required value: must not be empty for specified object fields",
        "root.type: Required value: must not be empty at the root",
      ],
    ],
    [
      "must be of type object at the root, and have known types",
      { type: "map", additionalProperties: true },
      [
        "root.additionalProperties: Forbidden: must not be used at the root",
        'root.type: Invalid value: "map": must be object at the root',
        'root.type: Unsupported value: "map": supported values: "array", "boolean", "integer", "number", "object", "string"',
      ],
    ],
    [
      "must not redefine the fields that every resource has",
      { type: "object", properties: { kind: { type: "integer" }, metadata: { type: "object", required: ["name"] } } },
      [
        'root.properties[kind].type: Invalid value: "integer": must be string',
        `root.properties[metadata]: Forbidden: ${OBJECT_META}`,
      ],
    ],
    [
      "must specify outside of junctors what they restrict",
      {
        type: "object",
        properties: { a: { type: "array", items: { type: "object" } } },
        anyOf: [{ properties: { a: { items: { properties: { b: {} } } } } }, { not: { properties: { c: {} } } }],
      },
      [
        "root.properties[a].items.properties[b]: Required value: because it is defined in root.anyOf[0].properties[a].items.properties[b]",
        "root.properties[c]: Required value: because it is defined in root.anyOf[1].not.properties[c]",
      ],
    ],
  ])("%s", (_what, schema, sentences) => {
    expect(schemaErrors(schema)).toEqual(sentences);
  });

  test.each<[ReleaseName, string[]]>([
    ["1.35", []],
    ["1.36", [`spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: ${OBJECT_META}`]],
  ])("with documentation for metadata is accepted or rejected depending on the release: %s", (release, sentences) => {
    const schema = { type: "object", properties: { metadata: { type: "object", example: {} } } };
    expect(
      createErrorsOf(CUSTOM_RESOURCE_DEFINITION, definitionOf(schema), { ...CONTEXT, gates: gatesOf(release) }),
    ).toEqual(sentences);
  });
});

describe("a property", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    [
      "that is an embedded resource must have properties or preserve unknown fields",
      { "x-kubernetes-embedded-resource": true, type: "object" },
      [
        "a.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
      ],
    ],
    [
      "may be int-or-string in one of two forms",
      {
        "x-kubernetes-int-or-string": true,
        anyOf: [{ type: "string" }, { type: "integer" }],
        oneOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }],
      },
      [
        "a.anyOf[0].type: Forbidden: must be empty to be structural",
        "a.anyOf[1].type: Forbidden: must be empty to be structural",
        "a.oneOf[0].anyOf[0].type: Forbidden: must be empty to be structural",
        "a.oneOf[0].anyOf[1].type: Forbidden: must be empty to be structural",
      ],
    ],
    [
      "may be int-or-string with further junctors",
      { "x-kubernetes-int-or-string": true, allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }, {}] },
      [],
    ],
    [
      "must not be defined below junctors",
      {
        type: "object",
        allOf: [
          { nullable: true, default: {}, "x-kubernetes-map-type": "atomic", additionalProperties: true },
          { properties: { metadata: {} } },
        ],
      },
      [
        "a.allOf[0].additionalProperties: Forbidden: must be undefined to be structural",
        "a.allOf[0].default: Forbidden: must be undefined to be structural",
        "a.allOf[0].nullable: Forbidden: must be false to be structural",
        "a.allOf[0].x-kubernetes-map-type: Forbidden: must be undefined to be structural",
        "a.allOf[1].properties[metadata]: Forbidden: must not be specified in a nested context",
        "a.allOf[0].type: Required value: must be object if x-kubernetes-map-type is specified",
      ],
    ],
    [
      "must have valid patterns",
      { type: "string", pattern: "[a", not: { pattern: "\\" } },
      [
        'a.not.pattern: Invalid value: "\\\\": must be a valid regular expression, but isn\'t: error parsing regexp: trailing backslash at end of expression: ``',
        'a.pattern: Invalid value: "[a": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ]: `[a`',
      ],
    ],
  ])("%s", (_what, property, sentences) => {
    expect(propertyErrors(property)).toEqual(sentences);
  });
});
