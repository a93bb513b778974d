import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  CONTEXT,
  prepared,
  createErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { STORAGE_CLASS, VOLUME_ATTRIBUTES_CLASS } from "./storage-class.ts";
import { gatesOf } from "../../catalog/release-gates.ts";

const LOCAL = { metadata: { name: "c" }, provisioner: "example.com/local" };

function topology(key: string, ...values: readonly string[]): JsonObject {
  return { matchLabelExpressions: [{ key, values }] };
}

describe("a StorageClass", () => {
  test("defaults its reclaim policy to Delete and its binding mode to Immediate", () => {
    expect(prepared(STORAGE_CLASS, LOCAL)).toEqual({
      ...LOCAL,
      reclaimPolicy: "Delete",
      volumeBindingMode: "Immediate",
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", {}, []],
    ["needs a provisioner", { provisioner: "" }, ["provisioner: Required value"]],
    [
      "needs a qualified provisioner name",
      { provisioner: "A B" },
      [
        "provisioner: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      ],
    ],
    [
      "rejects an empty parameter name",
      { parameters: { "": "x" } },
      ['parameters: Invalid value: "": field can not be empty.'],
    ],
    [
      "limits the number of parameters",
      { parameters: Object.fromEntries(Array.from({ length: 513 }, (_, index) => [`p${index}`, ""])) },
      ["parameters: Too long: may not be more than 512 bytes"],
    ],
    [
      "limits the size of its parameters",
      { parameters: { p: "x".repeat(256 * 1024) } },
      ["parameters: Too long: may not be more than 262144 bytes"],
    ],
    [
      "rejects unknown policies",
      { reclaimPolicy: "Recycle", volumeBindingMode: "Later" },
      [
        'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
        'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
      ],
    ],
    [
      "needs distinct topology terms with distinct values",
      {
        allowedTopologies: [
          topology("zone", "a", "b"),
          topology("zone", "b", "a"),
          topology("zone", "c", "c"),
          topology("zone"),
        ],
      },
      [
        'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
        'allowedTopologies[2].matchLabelExpressions[0].values[1]: Duplicate value: "c"',
        "allowedTopologies[3].matchLabelExpressions[0].values: Required value",
      ],
    ],
    [
      "reports empty topology terms as duplicates as often as kubernetes does",
      { allowedTopologies: [{}, { matchLabelExpressions: [] }] },
      [0, 0, 1, 1, 1].map((index) => `allowedTopologies[${index}].matchLabelExpressions: Duplicate value: ""`),
    ],
  ])("%s", (_what, more, sentences) => {
    expect(createErrorsOf(STORAGE_CLASS, { ...LOCAL, ...more })).toEqual(sentences);
  });

  test("is immutable, except for allowVolumeExpansion", () => {
    const before = { ...LOCAL, parameters: { b: "1", a: "2" } };
    const after = {
      ...LOCAL,
      provisioner: "other",
      reclaimPolicy: "Retain",
      volumeBindingMode: "WaitForFirstConsumer",
    };
    expect(updateErrorsOf(STORAGE_CLASS, before, after)).toEqual([
      "parameters: Invalid value: null: field is immutable",
      'provisioner: Invalid value: "other": field is immutable',
      'reclaimPolicy: Invalid value: "Retain": field is immutable',
      'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
    ]);
    expect(updateErrorsOf(STORAGE_CLASS, LOCAL, { ...LOCAL, parameters: {}, allowVolumeExpansion: true })).toEqual([]);
  });

  test("causes warnings about deprecated node labels", () => {
    expect(
      warningsOf(STORAGE_CLASS, { ...LOCAL, allowedTopologies: [topology("beta.kubernetes.io/os", "a")] }),
    ).toEqual([
      'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]);
  });
});

describe("a VolumeAttributesClass", () => {
  const fast = { metadata: { name: "f" }, driverName: "d.example.com", parameters: { iops: "1" } };

  test("gets the protection finalizer in releases that support it", () => {
    expect(prepared(VOLUME_ATTRIBUTES_CLASS, fast)["metadata"]).toEqual({
      name: "f",
      finalizers: ["kubernetes.io/vac-protection"],
    });
    expect(prepared(VOLUME_ATTRIBUTES_CLASS, fast, { ...CONTEXT, gates: gatesOf("1.33") })).toEqual(fast);
  });

  test("needs a driver and parameters, which are immutable", () => {
    expect(createErrorsOf(VOLUME_ATTRIBUTES_CLASS, { metadata: { name: "f" } })).toEqual([
      "driverName: Required value",
      "parameters: Required value: must contain at least one key/value pair",
    ]);
    expect(
      updateErrorsOf(VOLUME_ATTRIBUTES_CLASS, fast, { ...fast, driverName: "e", parameters: { iops: "2" } }),
    ).toEqual([
      "driverName: Forbidden: updates to driverName are forbidden.",
      "parameters: Forbidden: updates to parameters are forbidden.",
    ]);
  });
});
