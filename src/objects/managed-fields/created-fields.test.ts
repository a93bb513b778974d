import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalog/schema-source.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { trackCreate, trackUpdate, type ManagedFieldsUpdate } from "./manager.ts";

const schemas = openSchemas("1.36");

type Create = Pick<ManagedFieldsUpdate, "next" | "schema"> & Partial<ManagedFieldsUpdate>;

function create(what: Create): ManagedFieldsUpdate {
  return { live: undefined, apiVersion: "v1", manager: "m", subresource: "", time: "2026-01-01T00:00:00Z", ...what };
}

/** Objects of a kind, some with zero values, empty maps and lists, list items with the same key, and unusual names. */
function objectsOf(struct: StructSchema, depth: number): fc.Arbitrary<JsonObject> {
  const members = [...struct.fields];
  return fc
    .subarray(members, { maxLength: Math.min(members.length, 8) })
    .chain((some) => fc.record(Object.fromEntries(some.map(([name, field]) => [name, valuesOf(field, depth - 1)]))));
}

const NAMES = fc.constantFrom("a", "b", "B", "0", "10", "9", "a/b", 'quote"', "<tag>", "é", "\ud800", "__proto__");

function valuesOf(field: FieldSchema, depth: number): fc.Arbitrary<unknown> {
  switch (field.type) {
    case "struct":
      return field.struct === undefined || depth <= 0 ? fc.constant({}) : objectsOf(field.struct, depth);
    case "array":
      return field.items === undefined || depth <= 0
        ? fc.constant([])
        : fc.array(valuesOf(field.items, depth - 1), { maxLength: 3 });
    case "map":
      return field.items === undefined || depth <= 0
        ? fc.constantFrom({}, { a: "1" })
        : fc.dictionary(NAMES, valuesOf(field.items, depth - 1), { maxKeys: 4 });
    case "any":
      return fc.constantFrom({}, { b: { a: [] } }, [1], "x", null);
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return fc.constantFrom(0, 80, 443);
    default:
      return fc.oneof(fc.constant(""), NAMES);
  }
}

const KINDS: readonly (readonly [group: string, kind: string])[] = [
  ["", "Pod"],
  ["", "Service"],
  ["", "ConfigMap"],
  ["", "Node"],
  ["apps", "Deployment"],
  ["apiextensions.k8s.io", "CustomResourceDefinition"],
  ["admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"],
];

describe("trackCreate writes the same as trackUpdate without a live object", () => {
  for (const [group, kind] of KINDS) {
    const schema = schemas.kind(group, "v1", kind)!;
    test(`for a ${kind}`, () => {
      fc.assert(
        fc.property(
          objectsOf(schema, 7),
          fc.constantFrom(undefined, [], [["status"]]),
          fc.constantFrom("zero", "none"),
          (next, resetFields, absentFields) => {
            const update = create({ next, schema, absentFields, ...(resetFields && { resetFields }) });
            const expected = trackUpdate(update);
            expect(trackCreate(update)).toBe(expected && JSON.stringify(expected));
          },
        ),
        { numRuns: 200, seed: 1 },
      );
    });
  }
});

describe("trackCreate", () => {
  const schema = schemas.kind("", "v1", "ConfigMap")!;

  test("uses the entries that a client sent", () => {
    const entry = {
      manager: "first",
      operation: "Update",
      apiVersion: "v1",
      time: "2025-01-01T00:00:00Z",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": { "f:gone": {} } },
    };
    const update = create({ next: { metadata: { name: "c", managedFields: [entry] }, data: { a: "1" } }, schema });
    const text = trackCreate(update);
    expect(text).toBe(JSON.stringify(trackUpdate(update)));
    expect(text).toContain('"manager":"first"');
  });

  test("returns undefined for list items without keys", () => {
    const next = { spec: { containers: ["i"] } };
    expect(trackCreate(create({ next, schema: schemas.kind("", "v1", "Pod")! }))).toBeUndefined();
  });
});
