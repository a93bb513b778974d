import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { CONTEXT, defaulted, told, toldOfUpdate, warned } from "../../core/testing/told.ts";
import { DEVICE_CLASS, RESOURCE_SLICE } from "./device-class.ts";

test("a class selects and configures", () => {
  const spec = { selectors: [{}], config: [{ opaque: { driver: "" } }], extendedResourceName: "cpu" };
  expect(told(DEVICE_CLASS, { metadata: { name: "c" }, spec })).toEqual([
    "spec.selectors[0].cel: Required value",
    "spec.config[0].opaque.driver: Required value",
    "spec.config[0].opaque.parameters: Required value",
    'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
  ]);
});

describe("a slice", () => {
  const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
  const slice = (spec: JsonObject): JsonObject => ({
    metadata: { name: "s" },
    spec: { driver: "d.example.com", pool, nodeName: "n", ...spec },
  });

  test("says since when a device is tainted", () => {
    const devices = [{ name: "a", taints: [{ key: "k", effect: "NoSchedule" }] }];
    expect(defaulted(RESOURCE_SLICE, slice({ devices }))["spec"]).toMatchObject({
      devices: [{ name: "a", taints: [{ key: "k", effect: "NoSchedule", timeAdded: CONTEXT.time }] }],
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is fine", { devices: [{ name: "a" }] }, []],
    [
      "is part of a pool",
      { driver: "", pool: { generation: -1 } },
      [
        "spec.driver: Required value",
        "spec.pool.name: Required value",
        "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
        "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
      ],
    ],
    [
      "is somewhere",
      { nodeName: undefined, allNodes: false },
      [
        "spec.allNodes: Invalid value: false: must be either unset or set to true",
        "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required",
      ],
    ],
    [
      "is in one place",
      { allNodes: true },
      [
        'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set',
      ],
    ],
    [
      "has different devices with proper names",
      {
        devices: [
          { name: "a", taints: [{ key: "k" }] },
          { name: "a", attributes: { "/x": {} } },
        ],
      },
      [
        "spec.devices[0].taints[0].effect: Required value",
        'spec.devices[1].attributes: Invalid value: "": the domain must not be empty',
        'spec.devices[1]: Duplicate value: "a"',
      ],
    ],
  ])("%s", (_what, spec, sentences) => {
    expect(told(RESOURCE_SLICE, slice(spec))).toEqual(sentences);
  });

  test("stays with its driver, pool and node", () => {
    const after = slice({ driver: "e", pool: { ...pool, name: "q" }, nodeName: "m" });
    expect(toldOfUpdate(RESOURCE_SLICE, slice({}), after)).toEqual([
      'spec.pool.name: Invalid value: "q": field is immutable',
      'spec.driver: Invalid value: "e": field is immutable',
      'spec.nodeName: Invalid value: "m": field is immutable',
    ]);
  });

  test("is warned about drivers in capitals", () => {
    expect(warned(RESOURCE_SLICE, slice({ driver: "D" }))).toEqual([
      'spec.driver: driver names should be lowercase; "D" contains uppercase characters',
    ]);
  });
});
