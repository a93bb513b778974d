import { describe, expect, test } from "vitest";
import { openCatalog } from "../../../objects/catalog/catalog.ts";
import { invalidValue } from "../../../meta/field-errors.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { compileCustomSchema, type CustomSchema } from "./custom-schema.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";

const struct = openCatalog({ release: "1.36" }).schemas.struct("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")!;

function schemaOf(properties: JsonObject | undefined, preservesUnknown = false): CustomSchema {
  const source = properties === undefined ? undefined : { type: "object", properties };
  const parts = {
    name: "Thing",
    metadata: { struct },
    metadataErrors: () => [],
    gates: gatesOf("1.36"),
    preservesUnknown,
  };
  return compileCustomSchema(source, parts);
}

const RESOURCE = { type: "object", "x-kubernetes-embedded-resource": true };
const SET = { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } };
const SPEC = {
  type: "object",
  properties: { size: { type: "integer", default: 1, maximum: 5 }, template: RESOURCE, names: SET },
};
const STATUS = { type: "object", properties: { phase: { type: "string", maxLength: 2 }, names: SET } };
const THING = { apiVersion: "example.com/v1", kind: "Thing" };

describe("decoding a custom resource", () => {
  test("reports the unknown fields of the metadata, of the object and of embedded metadata, and removes them", () => {
    const object = {
      ...THING,
      metadata: { name: "x", foo: 1 },
      spec: { zero: null, template: { metadata: { bar: 1 } } },
    };
    expect(schemaOf({ spec: SPEC }).decode(object)).toEqual([
      "metadata.foo",
      "spec.zero",
      "spec.template.metadata.bar",
    ]);
    expect(object).toEqual({ ...THING, metadata: { name: "x" }, spec: { template: { metadata: {} } } });
  });

  test("keeps unknown fields if the version has no schema, or if an old CRD preserves them", () => {
    for (const schema of [schemaOf(undefined), schemaOf({ spec: SPEC }, true)]) {
      const object = { ...THING, metadata: { foo: 1 }, spec: { a: null } };
      expect(schema.decode(object)).toEqual(["metadata.foo"]);
      expect(object.spec).toEqual({ a: null });
    }
  });
});

test("finish prunes a stored object and sets its defaults, and a second call changes nothing", () => {
  const schema = schemaOf({ spec: SPEC });
  const object = { ...THING, spec: { gone: 1, size: null, template: { kind: 5, metadata: { name: 1 } } } };
  expect(schema.finish(object)).toBe(true);
  expect(object).toEqual({ ...THING, spec: { size: 1, template: { metadata: {} } } });
  expect(schema.finish(object)).toBe(false);
  expect(schema.hasDefaults).toBe(true);
});

describe("the errors of a custom resource", () => {
  const reported = (errors: Iterable<{ readonly field: string }>): string[] => [...errors].map(({ field }) => field);
  const others = () => [invalidValue("others", 1, "")];

  test("are in kubernetes' order: values, further errors, embedded resources, list types", () => {
    const object = { ...THING, spec: { size: 9, template: { kind: "A" }, names: ["a", "a"] } };
    expect(reported(schemaOf({ spec: SPEC }).errors(object, { others }))).toEqual([
      "spec.size",
      "others",
      "spec.template.apiVersion",
      "spec.names[1]",
    ]);
  });

  test("on a status update are those of the status and of all list types", () => {
    const schema = schemaOf({ spec: SPEC, status: STATUS });
    const object = { ...THING, spec: { size: 9 }, status: { phase: "long", names: ["a", "a"] } };
    expect(reported(schema.statusErrors(object, { existing: THING, others }))).toEqual([
      "status.phase",
      "others",
      "status.names[1]",
    ]);
    expect(reported(schema.statusErrors(object, { existing: object }))).toEqual([]);
  });

  test("do not include duplicate list items if the existing object already has some", () => {
    const schema = schemaOf({ spec: SPEC });
    const existing = { ...THING, spec: { names: ["b", "b"] } };
    expect(reported(schema.errors({ ...THING, spec: { names: ["a", "a"] } }, { existing }))).toEqual([]);
    expect(reported(schema.errors({ ...THING, spec: { names: ["a", "a"] } }, { existing: THING }))).toEqual([
      "spec.names[1]",
    ]);
  });

  test("do not include those of CEL rules if a value has the wrong type", () => {
    const rule = { "x-kubernetes-validations": [{ rule: "self.size > 0" }] };
    const schema = schemaOf({ spec: { ...SPEC, ...rule } });
    expect([...schema.errors({ ...THING, spec: { size: "x" } })].at(-1)).toEqual({
      field: "<nil>",
      reason: "FieldValueInvalid",
      message:
        "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    });
    const unblocked = [...schema.errors({ ...THING, spec: { size: 9 } })].map(({ field }) => field);
    expect(unblocked).not.toContain("<nil>");
  });
});
