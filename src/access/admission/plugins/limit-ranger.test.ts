import { describe, expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { limitRanger } from "./limit-ranger.ts";
import {
  attributes,
  containers,
  mutated,
  pod,
  readerOf,
  rejectionOf,
} from "../../../../test/testing/access/admission/plugins/attributes.ts";

function plugin(...limits: readonly JsonObject[]) {
  return limitRanger(readerOf({ limitranges: [{ metadata: { name: "r", namespace: "ns" }, spec: { limits } }] }));
}

describe("the defaults of a LimitRange", () => {
  const withDefaults = plugin({
    type: "Container",
    default: { cpu: "1", memory: "1Gi" },
    defaultRequest: { cpu: "100m" },
  });

  test("are set on containers that omit them, and are listed in an annotation", async () => {
    const object = pod({
      containers: containers({ limits: { cpu: "2" }, requests: { cpu: "2" } }),
      initContainers: [{ name: "i" }],
    });
    const admitted = await mutated(withDefaults, attributes({ object }));
    expect(objectAt(admitted, "spec")).toMatchObject({
      containers: [{ resources: { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "2" } } }],
      initContainers: [{ resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "100m" } } }],
    });
    expect(objectAt(objectAt(admitted, "metadata"), "annotations")).toEqual({
      "kubernetes.io/limit-ranger":
        "LimitRanger plugin set: memory limit for container c0; cpu request for init container i; cpu, memory limit for init container i",
    });
  });

  test("change neither a pod that sets all values nor a pod in another namespace", async () => {
    const all = { cpu: "1", memory: "1Gi" };
    const complete = attributes({ object: pod({ containers: containers({ limits: all, requests: all }) }) });
    expect(await mutated(withDefaults, complete)).toBe(complete.object);
    const elsewhere = attributes({ namespace: "other", object: pod({ containers: containers({}) }) });
    expect(await mutated(withDefaults, elsewhere)).toBe(elsewhere.object);
  });

  test("reject a pod that they would make too large to store", async () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`example.com/${index}`, "1"]));
    const object = pod({ containers: Array.from({ length: 1000 }, () => ({})) });
    const asked = rejectionOf(() => plugin({ type: "Container", default: many }).mutate?.(attributes({ object })));
    expect(await asked).toContain("413 Request entity too large");
  });
});

describe("the limits of a LimitRange", () => {
  const both = { requests: { cpu: "1" }, limits: { cpu: "3" } };
  test.each([
    [{ type: "Container", min: { cpu: "2" } }, [both], "minimum cpu usage per Container is 2, but request is 1"],
    [{ type: "Container", min: { cpu: "2" } }, [{}], "minimum cpu usage per Container is 2.  No request is specified"],
    [
      { type: "Container", min: { cpu: "2" } },
      [{ requests: { cpu: "2" }, limits: { cpu: "1500m" } }],
      "minimum cpu usage per Container is 2, but limit is 1500m",
    ],
    [{ type: "Container", max: { cpu: "2" } }, [both], "maximum cpu usage per Container is 2, but limit is 3"],
    [{ type: "Container", max: { cpu: "2" } }, [{}], "maximum cpu usage per Container is 2.  No limit is specified"],
    [
      { type: "Container", max: { cpu: "2" } },
      [{ requests: { cpu: "3" }, limits: { cpu: "1" } }],
      "maximum cpu usage per Container is 2, but request is 3",
    ],
    [
      { type: "Container", maxLimitRequestRatio: { cpu: "2" } },
      [both],
      "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
    ],
    [
      { type: "Container", maxLimitRequestRatio: { cpu: "1" } },
      [{ requests: { cpu: "128m" }, limits: { cpu: "129m" } }],
      "cpu max limit to request ratio per Container is 1, but provided ratio is 1.007812",
    ],
    [
      { type: "Container", maxLimitRequestRatio: { cpu: "2" } },
      [{ requests: { cpu: "0" }, limits: { cpu: "1" } }],
      "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
    ],
    [
      { type: "Pod", max: { cpu: "5", memory: "1Gi" } },
      [both, both],
      "[maximum cpu usage per Pod is 5, but limit is 6, maximum memory usage per Pod is 1Gi.  No limit is specified]",
    ],
  ])("%j reject containers with the resources %j: %j", async (limit, resources, why) => {
    const given = attributes({ object: pod({ containers: containers(...resources) }) });
    expect(await rejectionOf(() => plugin(limit).validate?.(given))).toBe(`403 pods "p" is forbidden: ${why}`);
  });

  test("of type Pod apply to the pod-level resources instead of the sum of the containers", async () => {
    const object = pod({ containers: containers(both), resources: { limits: { cpu: "9" } } });
    expect(await rejectionOf(() => plugin({ type: "Pod", max: { cpu: "5" } }).validate?.(attributes({ object })))).toBe(
      '403 pods "p" is forbidden: maximum cpu usage per Pod is 5, but limit is 9',
    );
  });

  test("of type Pod count sidecars together with the init containers that start after them", async () => {
    const one = { limits: { cpu: "2" } };
    const initContainers = [
      { ...containers(one)[0], restartPolicy: "Always" },
      { name: "i", resources: { limits: { cpu: "7" } } },
    ];
    const object = pod({ containers: containers(one), initContainers });
    expect(
      await rejectionOf(() => plugin({ type: "Pod", max: { cpu: "5" } }).validate?.(attributes({ object }))),
    ).toContain("limit is 9");
  });

  test.each([
    [{ min: { storage: "2Gi" } }, "minimum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Gi"],
    [{ max: { storage: "1M" } }, "maximum storage usage per PersistentVolumeClaim is 1M, but request is 1Gi"],
  ])("of type PersistentVolumeClaim enforce %j", async (limit, why) => {
    const object = { metadata: { name: "v" }, spec: { resources: { requests: { storage: "1Gi" } } } };
    const given = attributes({ resource: "persistentvolumeclaims", object });
    const asked = rejectionOf(() => plugin({ type: "PersistentVolumeClaim", ...limit }).validate?.(given));
    expect(await asked).toBe(`403 persistentvolumeclaims "v" is forbidden: ${why}`);
  });

  test("do not apply to a pod that is being deleted", async () => {
    const object = pod({ containers: containers({}) });
    const existing = pod({}, { deletionTimestamp: "2030-01-01T00:00:00Z" });
    const given = attributes({ operation: "UPDATE", subresource: "resize", object, existing });
    expect(await rejectionOf(() => plugin({ type: "Container", min: { cpu: "1" } }).validate?.(given))).toBeUndefined();
  });
});

test("LimitRanger checks pods only on create and resize", () => {
  const about = { groupVersion: { group: "", version: "v1" }, resource: "pods", subresource: "" };
  const handled = [plugin().handles("CREATE", about), plugin().handles("UPDATE", about)];
  expect([...handled, plugin().handles("UPDATE", { ...about, subresource: "resize" })]).toEqual([true, false, true]);
});
