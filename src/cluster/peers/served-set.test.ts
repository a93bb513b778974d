import { describe, expect, test } from "vitest";
import { createServedSet } from "./served-set.ts";
import { documentOf } from "../../../test/testing/cluster/peers/documents.ts";

const PODS = { group: "", version: "v1", resource: "pods", subresource: "" };

describe("a served set", () => {
  const served = createServedSet(
    documentOf({ v1: { pods: "get list", "pods/resize": "patch" }, "apps/v1": { "widgets/scale": "get" } }),
  );

  test("is queried by group, version, resource, subresource and verb", () => {
    expect(served.has(PODS)).toBe(true);
    expect(served.hasVerb(PODS, "list")).toBe(true);
    expect(served.hasVerb(PODS, "delete")).toBe(false);
    expect(served.hasVerb({ ...PODS, subresource: "resize" }, "patch")).toBe(true);
    expect(served.hasVerb({ ...PODS, subresource: "resize" }, "list")).toBe(false);
    expect(served.has({ ...PODS, subresource: "exec" })).toBe(false);
    expect(served.has({ ...PODS, version: "v2" })).toBe(false);
    expect(served.has({ ...PODS, group: "apps" })).toBe(false);
  });

  test("does not contain a resource that is listed only for its subresources", () => {
    const widgets = { group: "apps", version: "v1", resource: "widgets", subresource: "" };
    expect(served.has(widgets)).toBe(false);
    expect(served.has({ ...widgets, subresource: "scale" })).toBe(true);
  });

  test("does not contain inherited object properties", () => {
    expect(served.has({ ...PODS, resource: "constructor" })).toBe(false);
    expect(served.hasGroup("__proto__")).toBe(false);
  });
});

test("a served set of an empty document is empty", () => {
  const served = createServedSet([]);
  expect(served.has(PODS)).toBe(false);
  expect(served.hasVerb(PODS, "get")).toBe(false);
  expect(served.hasGroup("")).toBe(false);
  expect(served.hasGroupVersion("", "v1")).toBe(false);
});

test("a served set does not contain a stale group version, nor a group that has only stale ones", () => {
  const stale = documentOf({ "metrics.k8s.io/v1": { pods: "get" } }, "Stale");
  const served = createServedSet([...stale, ...documentOf({ "apps/v1": { deployments: "get" } })]);
  expect(served.hasGroup("metrics.k8s.io")).toBe(false);
  expect(served.hasGroupVersion("metrics.k8s.io", "v1")).toBe(false);
  expect(served.hasGroup("apps")).toBe(true);
  expect(served.hasGroupVersion("apps", "v1")).toBe(true);
  expect(served.hasGroupVersion("apps", "v1beta1")).toBe(false);
});

test("a served set merges two entries for the same resource", () => {
  const served = createServedSet([
    ...documentOf({ "apps/v1": { deployments: "get", "deployments/scale": "get" } }),
    ...documentOf({ "apps/v1": { deployments: "list", "deployments/scale": "update", replicasets: "get" } }),
    ...documentOf({ "apps/v1": {} }, "Stale"),
  ]);
  const deployments = { group: "apps", version: "v1", resource: "deployments", subresource: "" };
  for (const verb of ["get", "list"]) expect(served.hasVerb(deployments, verb)).toBe(true);
  for (const verb of ["get", "update"])
    expect(served.hasVerb({ ...deployments, subresource: "scale" }, verb)).toBe(true);
  expect(served.has({ ...deployments, resource: "replicasets" })).toBe(true);
});
