import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import type { CustomSchema } from "../structural-schema/custom-schema.ts";
import { customKind } from "./custom-kind.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import { establishedDefinition, storedVersion } from "../../../../test/testing/extensions/crd/crd-object.ts";

/** A schema that reports no errors itself. */
const SCHEMA = {
  setDefaults: (object: JsonObject): void => void (object["isFilled"] = true),
  errors: (_object: JsonObject, { others }: { others: () => Iterable<unknown> }) => others(),
  statusErrors: (_object: JsonObject, { others }: { others: () => Iterable<unknown> }) => others(),
} as unknown as CustomSchema;

const SCALE = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".status.selector",
};
const CONTEXT = { gates: gatesOf("1.36"), time: "", ipFamilies: [] };

function kindOf(subresources: JsonObject): ReturnType<typeof customKind> {
  const { versions } = establishedDefinition({ versions: [storedVersion("v1", { subresources })] });
  return customKind(versions[0]!, () => SCHEMA);
}

function told(object: JsonObject, subresources: JsonObject = { scale: SCALE }): string[] {
  const errors = [...(kindOf(subresources).createErrors?.(object, CONTEXT) ?? [])];
  return errors.map(({ field, message }) => `${field}: ${message}`);
}

describe("replicas of a scalable custom resource", () => {
  test.each<[string, JsonObject, string[]]>([
    ["that are absent", {}, []],
    ["that are valid", { spec: { replicas: 3 }, status: { replicas: 3, selector: "a=b" } }, []],
    ["without a spec", { spec: null }, []],
    ["below 0", { spec: { replicas: -1 } }, [".spec.replicas: Invalid value: -1: should be a non-negative integer"]],
    [
      "above the maximum of int32",
      { status: { replicas: 2 ** 31 } },
      [".status.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"],
    ],
    [
      "that are a string",
      { spec: { replicas: "three" } },
      [".spec.replicas: Invalid value: 0: .spec.replicas accessor error: three is of the type string, expected int64"],
    ],
    [
      "in a spec that is a list",
      { spec: [1] },
      [
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: [1] is of the type []interface {}, expected map[string]interface{}",
      ],
    ],
    [
      "with a selector that is a number",
      { status: { selector: 7 } },
      ['.status.selector: Invalid value: "": .status.selector accessor error: 7 is of the type int64, expected string'],
    ],
  ])("%s are validated as kubernetes does", (_what, object, expected) => {
    expect(told(object)).toEqual(expected);
  });

  test("are not validated without a scale subresource", () => {
    expect(told({ spec: { replicas: -1 } }, {})).toEqual([]);
  });

  test("on a status update are validated only in the status", () => {
    const object = { spec: { replicas: -1 }, status: { replicas: -2 } };
    const errors = [...(kindOf({ scale: SCALE }).statusUpdateErrors?.(object, object, CONTEXT) ?? [])];
    expect(errors.map(({ field }) => field)).toEqual([".status.replicas"]);
  });
});

test("warnings are returned only for finalizers that the request adds", () => {
  const withFinalizers = (...finalizers: string[]): JsonObject => ({ metadata: { finalizers } });
  const { warnings } = kindOf({});
  expect([...(warnings?.(withFinalizers("a"), undefined, CONTEXT) ?? [])]).toHaveLength(1);
  expect([...(warnings?.(withFinalizers("a", "b"), withFinalizers("a"), CONTEXT) ?? [])]).toHaveLength(1);
  expect([...(warnings?.(withFinalizers("a"), withFinalizers("a"), CONTEXT) ?? [])]).toEqual([]);
});

test("setDefaults sets the defaults of the schema", () => {
  const object: JsonObject = {};
  kindOf({}).setDefaults?.(object, CONTEXT);
  expect(object).toEqual({ isFilled: true });
});
