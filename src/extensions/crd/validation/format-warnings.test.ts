import { expect, test } from "vitest";
import { CONTEXT, prepared } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "./crd-kind.ts";
import { formatWarnings } from "./format-warnings.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import { definitionOf } from "../../../../test/testing/extensions/crd/validation/crd.ts";

const FORMATS = definitionOf({
  type: "object",
  properties: {
    a: { type: "string", format: "date-time" },
    b: { type: "array", items: { type: "string", format: "lunar" } },
    c: { type: "integer", format: "int16" },
    d: { type: "string", format: "lunar" },
    e: { "x-kubernetes-int-or-string": true, format: "uuid" },
    f: { type: "object", format: "uri" },
  },
});

test.each<[ReleaseName, string[]]>([
  ["1.33", []],
  ["1.34", ['unrecognized format "lunar"']],
  ["1.36", ['unrecognized format "lunar"', 'unrecognized format "int16"', 'unrecognized format "uri"']],
])("release %s warns about the expected unknown formats", (release, warnings) => {
  const object = prepared(CUSTOM_RESOURCE_DEFINITION, FORMATS);
  expect([...formatWarnings(object, undefined, { ...CONTEXT, gates: gatesOf(release) })]).toEqual(warnings);
});

test("an update does not warn about unknown formats that the existing CRD has", () => {
  const before = definitionOf({ type: "object", properties: { x: { type: "string", format: "lunar" } } });
  expect([...formatWarnings(FORMATS, before, CONTEXT)]).toEqual([
    'unrecognized format "int16"',
    'unrecognized format "uri"',
  ]);
});
