import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { createErrorsOf } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "./crd-kind.ts";
import { definition, version } from "../../../../test/testing/extensions/crd/validation/crd.ts";

function toldOfVersions(...versions: JsonObject[]): string[] {
  return createErrorsOf(CUSTOM_RESOURCE_DEFINITION, definition({ versions }));
}

const SCHEMA = {
  openAPIV3Schema: {
    type: "object",
    properties: {
      color: { type: "string" },
      sizes: { type: "array", items: { type: "integer" } },
      labels: { type: "object", additionalProperties: { type: "string" } },
      metadata: { type: "object", properties: { name: { type: "string" } } },
    },
  },
};

test.each<[string, JsonObject, readonly string[]]>([
  [
    "is accepted if it is valid",
    { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n", labelSelectorPath: ".status.s" },
    [],
  ],
  ["must have paths", {}, ["specReplicasPath: Required value", "statusReplicasPath: Required value"]],
  [
    "must have paths below spec or status",
    { specReplicasPath: "spec.n", statusReplicasPath: ".spec.n", labelSelectorPath: ".n" },
    [
      'specReplicasPath: Invalid value: "spec.n": must be a simple json path starting with .',
      'statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status',
      'labelSelectorPath: Invalid value: ".n": should be a json path under either .spec or .status',
    ],
  ],
])("the scale subresource %s", (_what, scale, sentences) => {
  const scaled = version("v1", { subresources: { scale } });
  expect(toldOfVersions(scaled)).toEqual(sentences.map((sentence) => `spec.subresources.scale.${sentence}`));
  expect(toldOfVersions(scaled, version("v2"))).toEqual(
    sentences.map((sentence) => `spec.versions[0].subresources.scale.${sentence}`),
  );
});

test.each<[string, JsonObject, readonly string[]]>([
  ["is accepted if it is valid", { name: "A", type: "date", format: "date-time", jsonPath: ".a[*].b" }, []],
  [
    "must have a name, a type and a path",
    {},
    [
      "name: Required value",
      "type: Required value: must be one of boolean,date,integer,number,string",
      "JSONPath: Required value",
    ],
  ],
  [
    "must have a known type and format, and a valid path",
    { name: "A", type: "array", format: "int16", jsonPath: "a" },
    [
      'type: Invalid value: "array": must be one of boolean,date,integer,number,string',
      'format: Invalid value: "int16": must be one of byte,date,date-time,double,float,int32,int64,password',
      'JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ],
  ],
])("a printer column %s", (_what, column, sentences) => {
  const found = toldOfVersions(version("v1", { additionalPrinterColumns: [column] }));
  expect(found).toEqual(sentences.map((sentence) => `spec.additionalPrinterColumns[0].${sentence}`));
});

describe("a selectable field", () => {
  test.each([
    [".color", []],
    [".labels.app", []],
    ["", ["Required value"]],
    ["color", ['Invalid value: "color": is an invalid path: expected [ or . but got: color']],
    [".nope", ['Invalid value: ".nope": is an invalid path: does not refer to a valid field']],
    [".sizes[0]", ['Invalid value: ".sizes[0]": is an invalid path: array notation is not allowed']],
    [".color.", ['Invalid value: ".color.": is an invalid path: unexpected end of JSON path']],
    [".metadata.name", ['Invalid value: ".metadata.name": must not point to fields in metadata']],
    [
      ".sizes",
      [
        'Invalid value: ".sizes": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      ],
    ],
  ])("with the path %j is accepted, or rejected with a reason", (jsonPath, sentences) => {
    const found = toldOfVersions(version("v1", { schema: SCHEMA, selectableFields: [{ jsonPath }] }));
    expect(found).toEqual(sentences.map((sentence) => `spec.selectableFields[0].jsonPath: ${sentence}`));
  });

  test("is rejected if it is a duplicate, or if there are more than eight", () => {
    const names = [..."abcdefghi"];
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const schema = { openAPIV3Schema: { type: "object", properties } };
    const selectableFields = [...names, "a"].map((name) => ({ jsonPath: `.${name}` }));
    expect(toldOfVersions(version("v1", { schema, selectableFields }))).toEqual([
      'spec.selectableFields[9].jsonPath: Duplicate value: ".a"',
      "spec.selectableFields: Too many: 9: must have at most 8 items",
    ]);
  });

  test("is rejected without a schema, at the path of the list that contains it", () => {
    const selectableFields = [{ jsonPath: ".color" }];
    expect(
      toldOfVersions(version("v1", { schema: SCHEMA, selectableFields }), version("v2", { selectableFields })),
    ).toEqual(['spec.selectableFields: Invalid value: "": may only be set when validations.schema is included']);
    expect(toldOfVersions(version("v1", { selectableFields }), version("v2"))).toEqual([
      'spec.versions[0].selectableFields: Invalid value: "": may only be set when `version.schema.openAPIV3Schema` is not included',
    ]);
  });
});

test("an error about spec.versions shows all fields of all versions", () => {
  const [sentence = ""] = toldOfVersions(version("v1", { schema: SCHEMA }), version("v2", { storage: true }));
  expect(sentence).toMatch(
    /^spec\.versions: Invalid value: \[\{"Name":"v1",.*"Schema":\{"OpenAPIV3Schema":\{"ID":"".*"Items":\{"Schema":\{"ID":"".*"JSONSchemas":null\}.*must have exactly one version marked as storage version$/,
  );
});

test.each<[string, JsonObject, readonly string[]]>([
  ["may be None with an empty webhook", { strategy: "None", webhook: { conversionReviewVersions: [] } }, []],
  [
    "must have a known strategy",
    { strategy: "Magic" },
    ['strategy: Unsupported value: "Magic": supported values: "None", "Webhook"'],
  ],
  [
    "of strategy Webhook must have a webhook",
    { strategy: "Webhook" },
    [
      "webhookClientConfig: Required value: required when strategy is set to Webhook",
      "conversionReviewVersions: Required value",
    ],
  ],
  [
    "of strategy None must have no webhook",
    { strategy: "None", webhook: { clientConfig: { url: "https://a" }, conversionReviewVersions: ["v1"] } },
    [
      "webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
      "conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
    ],
  ],
  [
    "must have a supported review version",
    { strategy: "Webhook", webhook: { clientConfig: {}, conversionReviewVersions: ["v2", "v2"] } },
    [
      "webhookClientConfig: Required value: exactly one of url or service is required",
      'conversionReviewVersions[1]: Invalid value: "v2": duplicate version',
      'conversionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
    ],
  ],
])("spec.conversion %s", (_what, conversion, sentences) => {
  expect(createErrorsOf(CUSTOM_RESOURCE_DEFINITION, definition({ conversion }))).toEqual(
    sentences.map((sentence) => `spec.conversion.${sentence}`),
  );
});

test.each([
  ["https://github.com/kubernetes/enhancements/pull/1", []],
  ["unapproved, for a test", []],
  [
    "",
    [
      'Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  ],
  [
    "/pull/1",
    [
      'Invalid value: "/pull/1": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  ],
])("the approval annotation %j of a protected group is accepted or rejected with a reason", (approval, sentences) => {
  const annotations = { "api-approved.kubernetes.io": approval };
  const group = "sig.k8s.io";
  expect(
    createErrorsOf(CUSTOM_RESOURCE_DEFINITION, definition({ group }, { name: `widgets.${group}`, annotations })),
  ).toEqual(sentences.map((sentence) => `metadata.annotations[api-approved.kubernetes.io]: ${sentence}`));
});
