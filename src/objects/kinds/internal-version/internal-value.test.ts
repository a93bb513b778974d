import { describe, expect, test } from "vitest";
import { gatesOf } from "../../catalog/release-gates.ts";
import type { ReleaseName } from "../../catalog/release.ts";
import { INTERNAL_TYPES } from "./internal-types.ts";
import { internalValue, isSameInternal } from "./internal-value.ts";

describe("internalValue", () => {
  test("shows every field of the internal type, in the order of the type, and the entries of maps sorted by key", () => {
    const request = { adminAccess: true, capacity: { requests: { b: "1024Mi", a: "1" } }, tolerations: [{}] };
    expect(JSON.stringify(internalValue(request, "ExactDeviceRequest"))).toBe(
      '{"DeviceClassName":"","Selectors":null,"AllocationMode":"","Count":0,"AdminAccess":true,' +
        '"Tolerations":[{"Key":"","Operator":"","Value":"","Effect":"","TolerationSeconds":null}],' +
        '"Capacity":{"Requests":{"a":"1","b":"1Gi"}}}',
    );
  });

  test("shows a nil pointer as null, and an absent struct with its zero values", () => {
    expect(internalValue(undefined, "*NFSVolumeSource")).toBeNull();
    expect(internalValue(undefined, "NFSVolumeSource")).toEqual({ Server: "", Path: "", ReadOnly: false });
    expect(internalValue(undefined, "[]Taint")).toBeNull();
  });

  test("omits the empty fields of label selectors and metadata, which have JSON names", () => {
    expect(internalValue({ matchLabels: { a: "b" }, matchExpressions: [] }, "L")).toEqual({ matchLabels: { a: "b" } });
    expect(internalValue({ matchExpressions: [{}] }, "L")).toEqual({ matchExpressions: [{ key: "", operator: "" }] });
    expect(internalValue(undefined, "L")).toBeNull();
    const template = { metadata: { labels: { b: "1", a: "2" }, annotations: {}, name: "" }, spec: {} };
    expect(Object.keys(internalValue(template, "ResourceClaimTemplateSpec") as object)).toEqual(["labels", "Spec"]);
  });

  test("shows hostNetwork, hostPID and the other host fields of a pod in its security context", () => {
    const spec = internalValue({ hostNetwork: true, securityContext: {} }, "PodSpec");
    expect(spec).toMatchObject({ SecurityContext: { HostNetwork: true, HostPID: false, HostUsers: null } });
  });

  test("shows only the fields that the release has", () => {
    const members = (release: ReleaseName): string[] =>
      Object.keys(internalValue({}, "PodSpec", { gates: gatesOf(release) }) as object);
    expect(members("1.35")).toContain("WorkloadRef");
    expect(members("1.36")).not.toContain("WorkloadRef");
    expect(members("1.36")).toContain("SchedulingGroup");
  });
});

test("isSameInternal treats an empty list or map like an absent one, and compares quantities by value", () => {
  const volume = { accessModes: [], csi: { volumeAttributes: {} }, capacity: { storage: "1Ki" } };
  expect(isSameInternal(volume, { csi: {}, capacity: { storage: "1024" } }, "PersistentVolumeSpec")).toBe(true);
  expect(isSameInternal(volume, { capacity: { storage: "1Ki" } }, "PersistentVolumeSpec")).toBe(false);
  expect(isSameInternal({ storageClassName: "a" }, { storageClassName: "b" }, "PersistentVolumeSpec")).toBe(false);
});

test("every type that a field refers to is in the table", () => {
  const described = new Set(Object.keys(INTERNAL_TYPES));
  for (const [type, text] of Object.entries(INTERNAL_TYPES))
    for (const member of text === "" ? [] : text.split(" ")) {
      const [, name = "", shape = ""] = /^(\w+)(?:=[$\w-]+)?(?::(.+))?$/.exec(member) ?? [];
      expect(name, `${type}: ${member}`).not.toBe("");
      const other = shape === "^" ? name : shape.replace(/^(?:\*|\[\])/, "");
      if (other.length > 1 && other !== "{}q") expect(described, `${type}: ${member}`).toContain(other);
    }
});
