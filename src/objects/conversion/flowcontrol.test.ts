import { expect, test } from "vitest";
import { convertObject, isSameShape } from "./convert.ts";
import type { JsonObject } from "../../meta/json.ts";

const ANNOTATION = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

function version(name: string) {
  return { group: "flowcontrol.apiserver.k8s.io", version: name };
}

function level(versionName: string, limited: JsonObject, annotations?: JsonObject): JsonObject {
  return {
    kind: "PriorityLevelConfiguration",
    apiVersion: `flowcontrol.apiserver.k8s.io/${versionName}`,
    metadata: { name: "workload-low", ...(annotations && { annotations }) },
    spec: { type: "Limited", limited: { ...limited, limitResponse: { type: "Reject" } } },
  };
}

test.each([
  ["v1", "v1beta3", level("v1", { nominalConcurrencyShares: 5 }), level("v1beta3", { nominalConcurrencyShares: 5 })],
  ["v1", "v1beta2", level("v1", { nominalConcurrencyShares: 5 }), level("v1beta2", { assuredConcurrencyShares: 5 })],
  [
    "v1beta3",
    "v1beta1",
    level("v1beta3", { nominalConcurrencyShares: 5 }),
    level("v1beta1", { assuredConcurrencyShares: 5 }),
  ],
  [
    "v1beta2",
    "v1alpha1",
    level("v1beta2", { assuredConcurrencyShares: 5 }),
    level("v1alpha1", { assuredConcurrencyShares: 5 }),
  ],
  [
    "v1",
    "v1beta3",
    level("v1", { nominalConcurrencyShares: 0 }),
    level("v1beta3", { nominalConcurrencyShares: 0 }, { [ANNOTATION]: "" }),
  ],
  [
    "v1",
    "v1beta2",
    level("v1", { nominalConcurrencyShares: 0 }, { other: "kept" }),
    level("v1beta2", { assuredConcurrencyShares: 0 }, { other: "kept", [ANNOTATION]: "" }),
  ],
])("a priority level of %s converts to %s and back", (first, second, inFirst, inSecond) => {
  expect(convertObject(inFirst, version(first), version(second))).toEqual(inSecond);
  expect(convertObject(inSecond, version(second), version(first))).toEqual(inFirst);
});

test("zero shares in v1beta3 without the annotation become the default shares in v1", () => {
  const beta = level("v1beta3", { nominalConcurrencyShares: 0 });
  expect(convertObject(beta, version("v1beta3"), version("v1"))).toEqual(level("v1", { nominalConcurrencyShares: 30 }));
});

test("all versions of a flow schema have one shape, those of a priority level have three", () => {
  expect(isSameShape("FlowSchema", version("v1"), version("v1beta1"))).toBe(true);
  expect(isSameShape("PriorityLevelConfiguration", version("v1"), version("v1beta3"))).toBe(false);
  expect(isSameShape("PriorityLevelConfiguration", version("v1beta2"), version("v1beta1"))).toBe(true);
});
