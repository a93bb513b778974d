import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  createErrorsOf,
  prepared,
  updateErrorsOf,
  warningsOf,
} from "../../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { RESOURCE_SLICE } from "./resource-slice.ts";

const POOL = { name: "p", generation: 1, resourceSliceCount: 1 };

function slice(spec: JsonObject): JsonObject {
  return { metadata: { name: "s" }, spec: { driver: "d.example.com", pool: POOL, nodeName: "n", ...spec } };
}

describe("a ResourceSlice", () => {
  test("defaults the time of a device taint", () => {
    const devices = [{ name: "a", taints: [{ key: "k", effect: "NoSchedule" }] }];
    expect(defaulted(RESOURCE_SLICE, slice({ devices }))["spec"]).toMatchObject({
      devices: [{ name: "a", taints: [{ key: "k", effect: "NoSchedule", timeAdded: CONTEXT.time }] }],
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", { devices: [{ name: "a" }] }, []],
    [
      "needs a driver and a valid pool",
      { driver: "", pool: { generation: -1 } },
      [
        "spec.driver: Required value",
        "spec.pool.name: Required value",
        "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
        "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
      ],
    ],
    [
      "needs a node selection",
      { nodeName: undefined, allNodes: false },
      [
        "spec.allNodes: Invalid value: false: must be either unset or set to true",
        "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required",
      ],
    ],
    [
      "rejects two node selections",
      { allNodes: true },
      [
        'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set',
      ],
    ],
    [
      "needs unique devices with valid attributes and taints",
      {
        devices: [
          { name: "a", taints: [{ key: "k" }] },
          { name: "a", attributes: { "/x": { bool: true } } },
        ],
      },
      [
        "spec.devices[0].taints[0].effect: Required value",
        'spec.devices[1].attributes: Invalid value: "": the domain must not be empty',
        'spec.devices[1]: Duplicate value: "a"',
      ],
    ],
  ])("%s", (_what, spec, sentences) => {
    expect(createErrorsOf(RESOURCE_SLICE, slice(spec))).toEqual(sentences);
  });

  test("cannot change its driver, pool and node", () => {
    const after = slice({ driver: "e", pool: { ...POOL, name: "q" }, nodeName: "m" });
    expect(updateErrorsOf(RESOURCE_SLICE, slice({}), after)).toEqual([
      'spec.pool.name: Invalid value: "q": field is immutable',
      'spec.driver: Invalid value: "e": field is immutable',
      'spec.nodeName: Invalid value: "m": field is immutable',
    ]);
  });

  test("causes a warning about a driver name in upper case", () => {
    expect(warningsOf(RESOURCE_SLICE, slice({ driver: "D" }))).toEqual([
      'spec.driver: driver names should be lowercase; "D" contains uppercase characters',
    ]);
  });
});

describe("a device", () => {
  const ofDevice = (device: JsonObject, spec: JsonObject = {}): string[] =>
    createErrorsOf(RESOURCE_SLICE, slice({ ...spec, devices: [{ name: "a", ...device }] }));

  test.each<[string, JsonObject, readonly string[]]>([
    [
      "needs attributes with exactly one valid value",
      { attributes: { none: {}, two: { int: 1, bool: true }, long: { string: "x".repeat(65) }, v: { version: "1" } } },
      [
        "spec.devices[0].attributes[long].string: Too long: may not be more than 64 bytes",
        'spec.devices[0].attributes[none]: Invalid value: "": exactly one value must be specified',
        'spec.devices[0].attributes[two]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: exactly one value must be specified',
        'spec.devices[0].attributes[v].version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0',
      ],
    ],
    [
      "limits the number of attributes",
      { attributes: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`a${index}`, { int: index }])) },
      ["spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed 32"],
    ],
    [
      "needs allowMultipleAllocations for a request policy",
      { capacity: { mem: { value: "1Gi", requestPolicy: { default: "1Gi" } } } },
      ["spec.devices[0].capacity[mem].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
    ],
    [
      "needs distinct counter sets",
      { consumesCounters: [{ counterSet: "", counters: { a: {} } }, { counterSet: "" }] },
      [
        "spec.devices[0].consumesCounters[0].counterSet: Required value",
        "spec.devices[0].consumesCounters[1].counterSet: Required value",
        "spec.devices[0].consumesCounters[1].counters: Required value",
        'spec.devices[0].consumesCounters[1]: Duplicate value: ""',
      ],
    ],
    [
      "needs both binding conditions and binding failure conditions",
      { bindingConditions: ["a", "a"] },
      [
        'spec.devices[0].bindingConditions[1]: Duplicate value: "a"',
        "spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions",
      ],
    ],
    [
      "needs different conditions for binding and binding failure",
      { bindingConditions: ["a"], bindingFailureConditions: ["a"] },
      [
        'spec.devices[0].bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap with bindingConditions',
      ],
    ],
    [
      "rejects a node selection of its own, unless the slice allows it",
      { allNodes: true },
      [
        "spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
      ],
    ],
  ])("%s", (_what, device, sentences) => expect(ofDevice(device)).toEqual(sentences));

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted with a node", { nodeName: "n" }, []],
    [
      "is rejected without a node",
      { nodeName: "", allNodes: false },
      [
        'spec.devices[0].nodeName: Invalid value: "": must not be empty',
        "spec.devices[0].allNodes: Invalid value: false: must be either unset or set to true",
        "spec.devices[0]: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
      ],
    ],
    [
      "is rejected with two node selections",
      { nodeName: "n", allNodes: true },
      [
        'spec.devices[0]: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
      ],
    ],
  ])("%s under perDeviceNodeSelection", (_what, device, sentences) =>
    expect(ofDevice(device, { nodeName: undefined, perDeviceNodeSelection: true })).toEqual(sentences),
  );

  const disabled = {
    name: "a",
    attributes: { l: { ints: [1] } },
    nodeAllocatableResourceMappings: { cpu: { allocationMultiplier: "2" } },
  };

  test("loses the fields of features that are off by default when it is created, but not when it is read", () => {
    const written = slice({ devices: [disabled] });
    const { devices } = prepared(RESOURCE_SLICE, written)["spec"] as JsonObject;
    expect(devices).toEqual([{ name: "a", attributes: { l: {} } }]);
    expect(defaulted(RESOURCE_SLICE, written)).toEqual(written);
  });

  test("keeps these fields in an update if the stored slice has them", () => {
    const updated = (before: JsonObject): JsonObject => {
      const object = slice({ devices: [disabled] });
      RESOURCE_SLICE.prepareUpdate!(object, before, CONTEXT);
      return object;
    };
    expect(updated(slice({ devices: [disabled] }))).toEqual(slice({ devices: [disabled] }));
    expect(updated(slice({ devices: [] }))["spec"]).toMatchObject({ devices: [{ name: "a", attributes: { l: {} } }] });
  });
});

test("shared counter sets need unique names and counters", () => {
  const sharedCounters = [{ name: "a", counters: { mem: {} } }, { name: "a" }];
  expect(createErrorsOf(RESOURCE_SLICE, slice({ sharedCounters }))).toEqual([
    "spec.sharedCounters[1].counters: Required value",
    'spec.sharedCounters[1]: Duplicate value: "a"',
  ]);
  expect(defaulted(RESOURCE_SLICE, slice({ sharedCounters }))["spec"]).toMatchObject({
    sharedCounters: [{ name: "a", counters: { mem: { value: "0" } } }, { name: "a" }],
  });
});
