import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { cellOf, rowOf, secondsAgo } from "../../../test/testing/objects/table/rows.ts";

test("a priority class shows its value, and from 1.32 on its preemption policy", () => {
  const object = { value: 1_000, globalDefault: true, preemptionPolicy: "Never" };
  expect(rowOf("scheduling.k8s.io/PriorityClass", object)).toEqual(["x", 1_000, true, "60m", "Never"]);
  expect(rowOf("scheduling.k8s.io/PriorityClass", object, "1.31")).toEqual(["x", 1_000, true, "60m"]);
});

test("pod groups show their policy, workload and state", () => {
  const key = "scheduling.k8s.io/PodGroup";
  const schedulingPolicy = { gang: { minCount: 2 } };
  const podGroupTemplateRef = { workload: { workloadName: "w" } };
  expect(rowOf(key, { spec: { schedulingPolicy, podGroupTemplateRef } })).toEqual(["x", "Gang", "w", "Pending", "60m"]);
  expect(rowOf(key, { spec: { workloadRef: { workloadName: "w" } } }, "1.37")).toEqual([
    "x",
    "Basic",
    "w",
    "Pending",
    "60m",
  ]);
  expect(rowOf("scheduling.k8s.io/CompositePodGroup", {}, "1.37")).toEqual(["x", "Basic", "<none>", "60m"]);
  expect(rowOf("scheduling.k8s.io/Workload", {})).toEqual(["x", "60m"]);
  const status = (...conditions: JsonObject[]): unknown => cellOf(key, "Status", { status: { conditions } });
  expect(status({ type: "PodGroupScheduled", status: "True" })).toBe("Scheduled");
  expect(status({ type: "PodGroupInitiallyScheduled", status: "False" })).toBe("Unschedulable");
  expect(status({ type: "PodGroupScheduled", status: "True" }, { type: "DisruptionTarget", reason: "Preempted" })).toBe(
    "Preempted",
  );
});

describe("a resource claim", () => {
  const allocation = { devices: {} };
  const metadata = { deletionTimestamp: secondsAgo(1) };
  test.each<[string, JsonObject]>([
    ["pending", {}],
    ["allocated", { status: { allocation } }],
    ["allocated,reserved", { status: { allocation, reservedFor: [{}] } }],
    ["deleted", { metadata }],
    ["deleted,allocated", { metadata, status: { allocation } }],
  ])("is %s", (state, object) => {
    expect(rowOf("resource.k8s.io/ResourceClaim", object)).toEqual(["x", state, "60m"]);
  });

  test("that is deleted while it is allocated is shown as deallocating before 1.32", () => {
    const object = { spec: { resourceClassName: "c", allocationMode: "Immediate" }, metadata, status: { allocation } };
    expect(rowOf("resource.k8s.io/ResourceClaim", object, "1.30")).toEqual([
      ...["x", "c", "Immediate", "deleted,allocated,deallocating", "60m"],
    ]);
  });
});

test("tables of devices show their drivers, nodes and taints", () => {
  const spec = { nodeName: "n", driver: "d", pool: { name: "p" } };
  expect(rowOf("resource.k8s.io/ResourceSlice", { spec })).toEqual(["x", "n", "d", "p", "60m"]);
  expect(rowOf("resource.k8s.io/ResourceSlice", { nodeName: "n", driverName: "d" }, "1.30")).toEqual([
    "x",
    "n",
    "d",
    "60m",
  ]);
  expect(rowOf("resource.k8s.io/DeviceClass", {})).toEqual(["x", "60m"]);
  expect(rowOf("resource.k8s.io/ResourceClaimTemplate", {})).toEqual(["x", "60m"]);
  const template = { spec: { spec: { resourceClassName: "c", allocationMode: "Immediate" } } };
  expect(rowOf("resource.k8s.io/ResourceClaimTemplate", template, "1.30")).toEqual(["x", "c", "Immediate", "60m"]);
  const taint = { key: "k", value: "v", effect: "NoExecute", timeAdded: secondsAgo(60) };
  expect(rowOf("resource.k8s.io/DeviceTaintRule", { spec: { taint } })).toEqual([
    "x",
    "k",
    "v",
    "NoExecute",
    "60s",
    "60m",
  ]);
  expect(cellOf("resource.k8s.io/DeviceTaintRule", "TimeAdded", {})).toBe("");
});

test("releases that still have a removed kind show its columns", () => {
  const generatedFrom = { kind: "K", apiGroup: "g", name: "n" };
  expect(rowOf("resource.k8s.io/ResourceClass", { driverName: "d" }, "1.30")).toEqual(["x", "d", "60m"]);
  expect(rowOf("resource.k8s.io/ResourceClaimParameters", { generatedFrom }, "1.30")).toEqual(["x", "K.g n", "60m"]);
  expect(rowOf("resource.k8s.io/ResourceClassParameters", {}, "1.30")).toEqual(["x", "", "60m"]);
  expect(rowOf("resource.k8s.io/PodSchedulingContext", { spec: { selectedNode: "n" } }, "1.31")).toEqual([
    "x",
    "n",
    "60m",
  ]);
});

describe("a ResourcePoolStatusRequest", () => {
  const key = "resource.k8s.io/ResourcePoolStatusRequest";
  const spec = { driver: "d" };
  const pools = [
    { totalDevices: 4, availableDevices: 1, allocatedDevices: 2, unavailableDevices: 1 },
    { totalDevices: 2, validationError: "bad" },
  ];
  const done = (type: string): JsonObject => ({ type, status: "True", lastTransitionTime: secondsAgo(60) });

  test("without a status is pending", () => {
    expect(rowOf(key, { spec })).toEqual(["x", "d", "-", "-", "-", "-", "-", 0, "Pending", "<none>"]);
  });

  test("that is complete shows sums, and whether pools were omitted", () => {
    const status = { conditions: [done("Complete")], poolCount: 2, pools };
    expect(rowOf(key, { spec, status })).toEqual(["x", "d", "6", "1", "2", "1", "1", 2, "Complete", "60s"]);
    expect(cellOf(key, "Status", { status: { ...status, poolCount: 5 } })).toBe("Complete (2/5 pools)");
  });

  test("that failed shows no sums", () => {
    const status = { conditions: [done("Failed")], poolCount: 2, pools };
    expect(rowOf(key, { spec, status })).toEqual(["x", "d", "-", "-", "-", "-", "-", 2, "Failed", "<none>"]);
  });
});

describe("an eviction", () => {
  const spec = { target: { pod: { name: "p" } }, requester: "drain", intent: "Eviction" };
  const condition = (type: string, reason: string): JsonObject => ({ type, status: "True", reason });

  test.each<[string, JsonObject]>([
    ["Pending", {}],
    ["Progressing", { observedGeneration: 1 }],
    ["Failed (EvictionInvalid)", { conditions: [condition("Failed", "EvictionInvalid")] }],
    [
      "TargetEvicted (PodDeleted)",
      { conditions: [condition("Failed", "F"), condition("TargetEvicted", "PodDeleted")] },
    ],
  ])("request is %s", (text, status) => {
    expect(rowOf("lifecycle.k8s.io/EvictionRequest", { spec, status }, "1.37")).toEqual([
      ...["x", "p", "Pod", text, "drain", "Eviction", "60m"],
    ]);
  });

  const eviction = (state: string, report: JsonObject): unknown =>
    rowOf(
      "lifecycle.k8s.io/Eviction",
      {
        spec,
        status: {
          targetResponders: [
            { name: "first", state: "Completed" },
            { name: "second", state },
            { name: "third", state: "Inactive" },
          ],
          responders: [{ name: "second", ...report }],
          requesters: [
            { name: "b", intent: "Eviction" },
            { name: "a", intent: "Eviction" },
            { name: "c", intent: "Withdrawn" },
          ],
        },
      },
      "1.37",
    );

  test.each<[string, string, string, JsonObject]>([
    ["Active", "Started (60s ago)", "in 30s", { startTime: secondsAgo(60), expectedCompletionTime: secondsAgo(-30) }],
    ["Active", "Started (60s ago)", "10s ago", { startTime: secondsAgo(60), expectedCompletionTime: secondsAgo(10) }],
    ["Active", "Active", "<unknown>", {}],
    ["Completed", "Completed (5s ago)", "-", { completionTime: secondsAgo(5) }],
    ["Canceled", "Canceled", "-", {}],
  ])("with a responder in state %s shows %s and %s", (state, status, finish, report) => {
    expect(eviction(state, { ...report, heartbeatTime: secondsAgo(2), message: " busy " })).toEqual([
      ...["x", "p", "Pod", "Pending", "second (2/3)", status, finish, "a + 1 more...", "60m"],
      ...["2s ago", "busy"],
    ]);
  });

  test("without a responder shows unset values", () => {
    expect(rowOf("lifecycle.k8s.io/Eviction", {}, "1.37")).toEqual([
      ...["x", "<unset>", "<unset>", "Pending", "<unset> (0/0)", "<unset>", "<unknown>", "<none>", "60m"],
      ...["<unset>", "<unset>"],
    ]);
    const status = { requesters: [{ name: "a", intent: "Withdrawn" }] };
    expect(cellOf("lifecycle.k8s.io/Eviction", "Requesters", { status }, "1.37")).toBe("<withdrawn>");
  });
});
