import { describe, expect, test } from "vitest";
import { parseGroupVersion } from "../../meta/group-version.ts";
import { convertFieldLabel, convertObject, isConvertible, isSameShape } from "./convert.ts";

const [appsV1, appsV1beta1] = ["apps/v1", "apps/v1beta1"].map(parseGroupVersion) as [never, never];

describe("convertObject", () => {
  test("changes only the apiVersion between versions of the same shape, and shares everything else", () => {
    const set = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "web" }, spec: { replicas: 2 } };
    const converted = convertObject(set, appsV1, appsV1beta1);
    expect(converted).toEqual({ ...set, apiVersion: "apps/v1beta1" });
    expect(converted["spec"]).toBe(set.spec);
    expect(set.apiVersion).toBe("apps/v1");
  });

  test("returns the object itself if both versions are equal, even for an unknown kind", () => {
    const widget = { apiVersion: "example.com/v1", kind: "Widget" };
    const version = parseGroupVersion("example.com/v1");
    expect(convertObject(widget, version, version)).toBe(widget);
  });

  test("shares the unchanged values with its argument when the shape changes", () => {
    const event = { apiVersion: "v1", kind: "Event", metadata: { name: "a" }, involvedObject: { name: "pod" } };
    const converted = convertObject(event, parseGroupVersion("v1"), parseGroupVersion("events.k8s.io/v1"));
    expect(converted["metadata"]).toBe(event.metadata);
    expect(converted["regarding"]).toBe(event.involvedObject);
  });

  test.each([
    ["ResourceClaim", "resource.k8s.io/v1alpha2", "resource.k8s.io/v1alpha3"],
    ["StorageVersionMigration", "storagemigration.k8s.io/v1alpha1", "storagemigration.k8s.io/v1beta1"],
    ["LeaseCandidate", "coordination.k8s.io/v1alpha1", "coordination.k8s.io/v1alpha2"],
    ["Workload", "scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1beta1"],
    ["Deployment", "apps/v1", "extensions/v1beta1"],
    ["Widget", "example.com/v1", "example.com/v2"],
  ])("does not convert %s from %s to %s", (kind, from, to) => {
    const versions = [parseGroupVersion(from), parseGroupVersion(to)] as const;
    expect(isConvertible(kind, ...versions)).toBe(false);
    expect(isSameShape(kind, ...versions)).toBe(false);
    expect(() => convertObject({ apiVersion: from, kind }, ...versions)).toThrow(
      `${kind} cannot be converted from ${from} to ${to}.`,
    );
  });

  test("rejects an object without a kind", () => {
    expect(() => convertObject({ metadata: {} }, appsV1, appsV1beta1)).toThrow("without a kind");
  });

  test("keeps a field named __proto__ as an ordinary field", () => {
    const text = '{"apiVersion":"v1","kind":"Event","__proto__":{"polluted":true},"message":"m"}';
    const converted = convertObject(JSON.parse(text), parseGroupVersion("v1"), parseGroupVersion("events.k8s.io/v1"));
    expect(Object.getPrototypeOf(converted)).toBe(Object.prototype);
    expect(JSON.stringify(converted)).toContain('"__proto__":{"polluted":true}');
  });

  test.each(["null", "3", '"text"', "[]", "[null,1]"])(
    "copies a malformed field with the value %s without an error",
    (part) => {
      const value: unknown = JSON.parse(part);
      for (const [kind, from, to] of [
        ["HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2beta1"],
        ["HorizontalPodAutoscaler", "autoscaling/v2", "autoscaling/v1"],
        ["CustomResourceDefinition", "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"],
        ["CustomResourceDefinition", "apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v1"],
        ["ResourceSlice", "resource.k8s.io/v1", "resource.k8s.io/v1alpha3"],
        ["EndpointSlice", "discovery.k8s.io/v1", "discovery.k8s.io/v1beta1"],
        ["Ingress", "networking.k8s.io/v1", "networking.k8s.io/v1beta1"],
        ["PodDisruptionBudget", "policy/v1", "policy/v1beta1"],
      ] as const) {
        const parts = { metadata: value, spec: value, status: value, endpoints: value };
        const nested = { spec: { devices: value, versions: value, metrics: value, selector: value, rules: value } };
        for (const object of [parts, nested]) {
          const converted = convertObject({ kind, ...object }, parseGroupVersion(from), parseGroupVersion(to));
          expect(converted["apiVersion"]).toBe(to);
        }
      }
    },
  );
});

describe("convertFieldLabel", () => {
  const core = parseGroupVersion("v1");
  const events = parseGroupVersion("events.k8s.io/v1");

  test.each([
    ["regarding.name", "involvedObject.name"],
    ["regarding.resourceVersion", "involvedObject.resourceVersion"],
    ["reportingController", "reportingComponent"],
    ["reason", "reason"],
    ["metadata.namespace", "metadata.namespace"],
  ])("%s of events.k8s.io is %s of the core group", (inEvents, inCore) => {
    expect(convertFieldLabel({ kind: "Event", label: inEvents }, events, core)).toBe(inCore);
    expect(convertFieldLabel({ kind: "Event", label: inCore }, core, events)).toBe(inEvents);
  });

  test("keeps the field labels of other kinds", () => {
    expect(convertFieldLabel({ kind: "Pod", label: "source.x" }, core, core)).toBe("source.x");
  });
});
