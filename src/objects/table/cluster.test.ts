import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { cellOf, rowOf, secondsAgo } from "../../../test/testing/objects/table/rows.ts";

describe("a node", () => {
  const node: JsonObject = {
    metadata: {
      labels: {
        "node-role.kubernetes.io/worker": "",
        "node-role.kubernetes.io/control-plane": "",
        "kubernetes.io/role": "edge",
        "node-role.kubernetes.io/": "",
      },
    },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [
        { type: "Hostname", address: "h" },
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "InternalIP", address: "10.0.0.2" },
        { type: "ExternalIP", address: "1.2.3.4" },
      ],
      nodeInfo: {
        kubeletVersion: "v1.36.4",
        osImage: "Debian",
        kernelVersion: "6.1",
        architecture: "amd64",
        containerRuntimeVersion: "containerd://2.0",
      },
    },
  };
  const roles = "control-plane,edge,worker";

  test("shows its state, roles and machine", () => {
    expect(rowOf("/Node", node)).toEqual([
      ...["x", "Ready,SchedulingDisabled", roles, "60m", "v1.36.4"],
      ...["10.0.0.1", "1.2.3.4", "Debian", "6.1 (amd64)", "containerd://2.0"],
    ]);
    expect(cellOf("/Node", "Kernel-Version", node, "1.35")).toBe("6.1");
    expect(rowOf("/Node", {})).toEqual([
      ...["x", "Unknown", "<none>", "60m", ""],
      ...["<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"],
    ]);
  });

  test.each(["False", "Unknown"])("whose Ready condition is %s is not ready", (status) => {
    expect(cellOf("/Node", "Status", { status: { conditions: [{ type: "Ready", status }] } })).toBe("NotReady");
  });
});

describe.each(["/Event", "events.k8s.io/Event"])("an event of %s", (key) => {
  test("shows its time, reason, object and source", () => {
    const object = {
      type: "Warning",
      reason: "BackOff",
      message: "  it failed \n",
      involvedObject: { kind: "Pod", name: "p", fieldPath: "spec.containers{a}" },
      source: { component: "kubelet", host: "n1" },
      firstTimestamp: secondsAgo(600),
      lastTimestamp: secondsAgo(60),
      count: 7,
    };
    expect(rowOf(key, object)).toEqual([
      ...["60s", "Warning", "BackOff", "pod/p", "spec.containers{a}", "kubelet, n1"],
      ...["it failed", "10m", 7, "x"],
    ]);
  });

  test("of a series shows the time and count of the series", () => {
    const object = {
      involvedObject: { kind: "Node" },
      reportingComponent: "scheduler",
      eventTime: `${secondsAgo(30).slice(0, -1)}.123456Z`,
      series: { count: 4, lastObservedTime: secondsAgo(5) },
    };
    expect(rowOf(key, object)).toEqual(["5s", "", "", "node", "", "scheduler", "", "29s", 4, "x"]);
  });

  test("that occurred once has the count 1", () => {
    expect(rowOf(key, { eventTime: secondsAgo(30) })).toEqual(["30s", "", "", "", "", "", "", "30s", 1, "x"]);
    expect(rowOf(key, { firstTimestamp: null, lastTimestamp: null, eventTime: null })[0]).toBe("<unknown>");
  });
});

test("tables of small kinds show the number of their entries", () => {
  expect(rowOf("/ConfigMap", { data: { a: "1" }, binaryData: { b: "", c: "" } })).toEqual(["x", 3, "60m"]);
  expect(rowOf("/Secret", { type: "Opaque", data: { a: "" } })).toEqual(["x", "Opaque", 1, "60m"]);
  expect(rowOf("/ServiceAccount", { secrets: [{}] })).toEqual(["x", "60m"]);
  expect(rowOf("/ServiceAccount", { secrets: [{}] }, "1.34")).toEqual(["x", 1, "60m"]);
  expect(rowOf("/Namespace", { status: { phase: "Active" } })).toEqual(["x", "Active", "60m"]);
  expect(rowOf("/LimitRange", {})).toEqual(["x", "2026-03-10T11:00:00Z"]);
  expect(rowOf("node.k8s.io/RuntimeClass", { handler: "runc" })).toEqual(["x", "runc", "60m"]);
});

test("a quota shows used and hard amounts, with limits in a column of their own", () => {
  const hard = { pods: "10", "limits.cpu": "4", "requests.cpu": "2000m", limits: "1", "limits.memory": "2048Mi" };
  const object = { status: { hard, used: { pods: "3", "limits.cpu": "500m" } } };
  const request = "limits: 0/1, pods: 3/10, requests.cpu: 0/2";
  const limit = "limits.cpu: 500m/4, limits.memory: 0/2Gi";
  expect(rowOf("/ResourceQuota", object)).toEqual(["x", request, limit, "60m"]);
  expect(rowOf("/ResourceQuota", object, "1.32")).toEqual(["x", "60m", request, limit]);
});

test("a component status shows its health", () => {
  const row = (condition: JsonObject): unknown => rowOf("/ComponentStatus", { conditions: [condition] });
  expect(row({ type: "Healthy", status: "True", message: "ok" })).toEqual(["x", "Healthy", "ok", ""]);
  expect(row({ type: "Healthy", status: "False", error: "down" })).toEqual(["x", "Unhealthy", "", "down"]);
  expect(row({ type: "Other" })).toEqual(["x", "Unknown", "", ""]);
});

test("a lease shows its holder, and a candidate its lease and versions", () => {
  expect(rowOf("coordination.k8s.io/Lease", { spec: { holderIdentity: "me" } })).toEqual(["x", "me", "60m"]);
  const spec = { leaseName: "l", binaryVersion: "1.36", emulationVersion: "1.35" };
  expect(rowOf("coordination.k8s.io/LeaseCandidate", { spec })).toEqual(["x", "l", "1.36", "1.35", "60m"]);
});

test("flow schemas and priority levels show their numbers as numbers", () => {
  const key = "flowcontrol.apiserver.k8s.io/FlowSchema";
  const schema = {
    spec: {
      priorityLevelConfiguration: { name: "exempt" },
      matchingPrecedence: 1,
      distinguisherMethod: { type: "ByUser" },
    },
    status: { conditions: [{ type: "Dangling", status: "False" }] },
  };
  expect(rowOf(key, schema)).toEqual(["x", "exempt", 1, "ByUser", "60m", "False"]);
  expect(rowOf(key, {})).toEqual(["x", "", 0, "<none>", "60m", "?"]);

  const level = "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration";
  const queuing = { queues: 64, handSize: 6, queueLengthLimit: 50 };
  const limited = { nominalConcurrencyShares: 30, limitResponse: { type: "Queue", queuing } };
  expect(rowOf(level, { spec: { type: "Limited", limited } })).toEqual(["x", "Limited", 30, 64, 6, 50, "60m"]);
  expect(
    cellOf(level, "NominalConcurrencyShares", { spec: { limited: { assuredConcurrencyShares: 5 } } }, "1.28"),
  ).toBe(5);
  expect(rowOf(level, { spec: { type: "Exempt" } })).toEqual([
    "x",
    "Exempt",
    "<none>",
    "<none>",
    "<none>",
    "<none>",
    "60m",
  ]);
});

test("storage versions and migrations show their progress", () => {
  const storageVersions = ["a", "b", "c", "d"].map((apiServerID) => ({ apiServerID, encodingVersion: "v1" }));
  const key = "internal.apiserver.k8s.io/StorageVersion";
  expect(rowOf(key, { status: { commonEncodingVersion: "v1", storageVersions } })).toEqual([
    ...["x", "v1", "a=v1,b=v1,c=v1 + 1 more...", "60m"],
  ]);
  expect(rowOf(key, {})).toEqual(["x", "<unset>", "<unset>", "60m"]);

  const migration = "storagemigration.k8s.io/StorageVersionMigration";
  const conditions = [
    { type: "Running", status: "False" },
    { type: "Succeeded", status: "True" },
  ];
  const resource = { group: "apps", resource: "deployments" };
  expect(rowOf(migration, { spec: { resource }, status: { conditions } })).toEqual([
    "x",
    "deployments.apps",
    "Succeeded",
  ]);
  expect(rowOf(migration, { spec: { resource: { resource: "secrets" } } })).toEqual(["x", "secrets", "Unknown"]);
  expect(rowOf(migration, { spec: { resource: { ...resource, version: "v1" } } }, "1.34")).toEqual([
    "x",
    "deployments.v1.apps",
  ]);
});

test("an APIService shows its service and whether it is available", () => {
  const key = "apiregistration.k8s.io/APIService";
  const available = (fields: JsonObject): JsonObject => ({
    spec: { service: { namespace: "ns", name: "svc" } },
    status: { conditions: [{ type: "Available", ...fields }] },
  });
  expect(rowOf(key, {})).toEqual(["x", "Local", "Unknown", "60m"]);
  expect(rowOf(key, available({ status: "True", reason: "Passed" }))).toEqual(["x", "ns/svc", "True", "60m"]);
  expect(rowOf(key, available({ status: "False", reason: "MissingEndpoints" }))[2]).toBe("False (MissingEndpoints)");
  expect(rowOf(key, available({ status: "False" }))[2]).toBe("False");
});
