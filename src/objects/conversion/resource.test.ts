import { describe, expect, test } from "vitest";
import { convertObject } from "./convert.ts";
import type { JsonObject } from "../../meta/json.ts";

function version(name: string) {
  return { group: "resource.k8s.io", version: name };
}

function bothWays(first: JsonObject, second: JsonObject): void {
  const versions = [first, second].map((object) => version(String(object["apiVersion"]).split("/")[1] ?? ""));
  const [firstVersion, secondVersion] = versions as [ReturnType<typeof version>, ReturnType<typeof version>];
  expect(convertObject(first, firstVersion, secondVersion)).toEqual(second);
  expect(convertObject(second, secondVersion, firstVersion)).toEqual(first);
}

const exact = {
  deviceClassName: "gpu.example.com",
  selectors: [{ cel: { expression: "device.driver == 'gpu.example.com'" } }],
  allocationMode: "ExactCount",
  count: 1,
};
const firstAvailable = [{ name: "big", deviceClassName: "big.example.com", allocationMode: "ExactCount", count: 1 }];
const flatRequests = [
  { name: "one", ...exact },
  { name: "any", firstAvailable },
];
const nestedRequests = [
  { name: "one", exactly: exact },
  { name: "any", firstAvailable },
];

function claim(name: string, requests: JsonObject[]): JsonObject {
  const devices = { requests, constraints: [{ matchAttribute: "gpu.example.com/model" }] };
  return { kind: "ResourceClaim", apiVersion: `resource.k8s.io/${name}`, metadata: { name: "c" }, spec: { devices } };
}

function template(name: string, requests: JsonObject[]): JsonObject {
  const { spec } = claim(name, requests);
  return {
    kind: "ResourceClaimTemplate",
    apiVersion: `resource.k8s.io/${name}`,
    metadata: { name: "t" },
    spec: { metadata: {}, spec },
  };
}

function slice(name: string, devices: JsonObject[]): JsonObject {
  const spec = {
    driver: "gpu.example.com",
    nodeName: "a",
    pool: { name: "a", generation: 1, resourceSliceCount: 1 },
    devices,
  };
  return { kind: "ResourceSlice", apiVersion: `resource.k8s.io/${name}`, metadata: { name: "s" }, spec };
}

describe("requests of a claim", () => {
  test.each([
    ["v1beta1", "v1"],
    ["v1beta1", "v1beta2"],
    ["v1alpha3", "v1beta2"],
  ])("are flat in %s and nested in %s", (flat, nested) => {
    bothWays(claim(flat, flatRequests), claim(nested, nestedRequests));
    bothWays(template(flat, flatRequests), template(nested, nestedRequests));
  });

  test('with alternatives have no field "exactly", even if they have fields with zero values', () => {
    const flat = claim("v1beta1", [{ name: "any", firstAvailable, deviceClassName: "", count: 0 }]);
    expect(convertObject(flat, version("v1beta1"), version("v1"))).toEqual(
      claim("v1", [{ name: "any", firstAvailable }]),
    );
  });

  test("keep unknown fields", () => {
    const tomorrow = { priorityOfTomorrow: 3 };
    bothWays(
      claim("v1", [{ name: "one", exactly: { ...exact, ...tomorrow } }]),
      claim("v1beta1", [{ name: "one", ...exact, ...tomorrow }]),
    );
  });
});

describe("devices of a slice", () => {
  const attributes = { model: { string: "a100" } };
  const rest = { attributes, taints: [{ key: "broken", effect: "NoSchedule" }] };
  const wrapped = { memory: { value: "40Gi" } };

  test("are nested in v1beta1 and flat in later versions", () => {
    const basic = { ...rest, capacity: { memory: { value: "40Gi", requestPolicy: { default: "1Gi" } } } };
    bothWays(slice("v1beta1", [{ name: "gpu-0", basic }]), slice("v1", [{ name: "gpu-0", ...basic }]));
    bothWays(slice("v1beta1", [{ name: "gpu-0", basic: {} }]), slice("v1beta2", [{ name: "gpu-0" }]));
  });

  test("have plain quantities for capacities in v1alpha3", () => {
    const alpha = slice("v1alpha3", [{ name: "gpu-0", basic: { ...rest, capacity: { memory: "40Gi" } } }]);
    bothWays(alpha, slice("v1beta1", [{ name: "gpu-0", basic: { ...rest, capacity: wrapped } }]));
    bothWays(alpha, slice("v1beta2", [{ name: "gpu-0", ...rest, capacity: wrapped }]));
  });
});
