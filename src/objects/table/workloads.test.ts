import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { cellOf, rowOf, secondsAgo } from "../../../test/testing/objects/table/rows.ts";

const template = {
  spec: {
    containers: [
      { name: "a", image: "i:1" },
      { name: "b", image: "j:2" },
    ],
    nodeSelector: { disk: "ssd" },
  },
};
const selector = {
  matchLabels: { app: "web" },
  matchExpressions: [
    { key: "tier", operator: "In", values: ["b", "a"] },
    { key: "old", operator: "DoesNotExist" },
    { key: "env", operator: "NotIn", values: ["dev"] },
    { key: "zone", operator: "Exists" },
  ],
};
const selectorText = "app=web,env notin (dev),!old,tier in (a,b),zone";
const images = ["a,b", "i:1,j:2"];

test("a deployment shows replica counts, images and its selector", () => {
  const status = { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 };
  const object = { spec: { replicas: 3, template, selector }, status };
  expect(rowOf("apps/Deployment", object)).toEqual(["x", "1/3", 2, 1, "60m", ...images, selectorText]);
});

test("the selector of a deployment is empty if it selects everything, and <invalid> if it is invalid", () => {
  const withSelector = (value: unknown): JsonObject => ({ spec: { selector: value } });
  expect(cellOf("apps/Deployment", "Selector", withSelector({}))).toBe("");
  expect(
    cellOf("apps/Deployment", "Selector", withSelector({ matchExpressions: [{ key: "a", operator: "Near" }] })),
  ).toBe("<invalid>");
  expect(cellOf("apps/ReplicaSet", "Selector", withSelector({}))).toBe("<none>");
  expect(cellOf("apps/ReplicaSet", "Selector", withSelector({ matchLabels: { "not a key": "v" } }))).toBe("<error>");
  expect(
    cellOf("apps/ReplicaSet", "Selector", withSelector({ matchExpressions: [{ key: "a", operator: "In" }] })),
  ).toBe("<error>");
});

test("replica sets and replication controllers show desired, current and ready replicas", () => {
  const status = { replicas: 2, readyReplicas: 1 };
  expect(rowOf("apps/ReplicaSet", { spec: { replicas: 3, template, selector }, status })).toEqual([
    ...["x", 3, 2, 1, "60m"],
    ...[...images, selectorText],
  ]);
  expect(rowOf("/ReplicationController", { spec: { template, selector: { b: "2", a: "1" } }, status })).toEqual([
    ...["x", 0, 2, 1, "60m"],
    ...[...images, "a=1,b=2"],
  ]);
});

test("a daemon set shows the numbers of its nodes", () => {
  const status = {
    desiredNumberScheduled: 5,
    currentNumberScheduled: 4,
    numberReady: 3,
    updatedNumberScheduled: 2,
    numberAvailable: 1,
  };
  expect(rowOf("apps/DaemonSet", { spec: { template, selector: { matchLabels: { a: "b" } } }, status })).toEqual([
    ...["x", 5, 4, 3, 2, 1, "disk=ssd", "60m"],
    ...[...images, "a=b"],
  ]);
});

test("a stateful set shows its ready replicas", () => {
  expect(rowOf("apps/StatefulSet", { spec: { replicas: 2, template }, status: { readyReplicas: 2 } })).toEqual([
    ...["x", "2/2", "60m"],
    ...images,
  ]);
});

test("a controller revision names its controller", () => {
  const owner = (apiVersion: string, kind: string): JsonObject => ({
    metadata: {
      ownerReferences: [
        { kind: "Other", name: "o" },
        { apiVersion, kind, name: "db", controller: true },
      ],
    },
    revision: 4,
  });
  expect(rowOf("apps/ControllerRevision", owner("apps/v1", "StatefulSet"))).toEqual([
    "x",
    "statefulset.apps/db",
    4,
    "60m",
  ]);
  expect(rowOf("apps/ControllerRevision", owner("v1", "Pod"))).toEqual(["x", "pod/db", 4, "60m"]);
  expect(rowOf("apps/ControllerRevision", { revision: 1 })).toEqual(["x", "<none>", 1, "60m"]);
});

describe("a job", () => {
  const condition = (type: string, status = "True"): JsonObject => ({ status: { conditions: [{ type, status }] } });

  test.each<[string, JsonObject]>([
    ["Complete", condition("Complete")],
    ["Failed", condition("Failed")],
    ["Suspended", condition("Suspended")],
    ["FailureTarget", condition("FailureTarget")],
    ["SuccessCriteriaMet", condition("SuccessCriteriaMet")],
    ["Running", condition("Suspended", "False")],
    ["Running", {}],
    ["Terminating", { metadata: { deletionTimestamp: secondsAgo(1) }, ...condition("Suspended") }],
    ["Complete", { metadata: { deletionTimestamp: secondsAgo(1) }, ...condition("Complete") }],
  ])("is %s", (status, object) => {
    expect(cellOf("batch/Job", "Status", object)).toBe(status);
  });

  test("shows SuccessCriteriaMet only from 1.34 on", () => {
    expect(cellOf("batch/Job", "Status", condition("SuccessCriteriaMet"), "1.33")).toBe("Running");
  });

  test.each<[string, JsonObject]>([
    ["2/5", { spec: { completions: 5, parallelism: 3 }, status: { succeeded: 2 } }],
    ["0/1 of 3", { spec: { parallelism: 3 } }],
    ["1/1", { spec: { parallelism: 1 }, status: { succeeded: 1 } }],
    ["0/1", {}],
  ])("has %s completions", (completions, object) => {
    expect(cellOf("batch/Job", "Completions", object)).toBe(completions);
  });

  test.each<[string, JsonObject]>([
    ["", {}],
    ["30s", { status: { startTime: secondsAgo(30) } }],
    ["10m", { status: { startTime: secondsAgo(3_600), completionTime: secondsAgo(3_000) } }],
  ])("has the duration %j", (duration, object) => {
    expect(cellOf("batch/Job", "Duration", object)).toBe(duration);
  });

  test("has no status column before 1.30", () => {
    const object = { spec: { completions: 1, template, selector: { matchLabels: { a: "b" } } }, status: {} };
    expect(rowOf("batch/Job", object, "1.29")).toEqual(["x", "0/1", "", "60m", ...images, "a=b"]);
    expect(rowOf("batch/Job", object)).toEqual(["x", "Running", "0/1", "", "60m", ...images, "a=b"]);
  });
});

test("a cron job shows its schedule and its last run", () => {
  const jobTemplate = { spec: { template, selector: { matchLabels: { a: "b" } } } };
  const object = {
    spec: { schedule: "*/5 * * * *", timeZone: "Europe/Paris", suspend: false, jobTemplate },
    status: { active: [{}, {}], lastScheduleTime: secondsAgo(150) },
  };
  expect(rowOf("batch/CronJob", object)).toEqual([
    ...["x", "*/5 * * * *", "Europe/Paris", "False", 2, "2m30s", "60m"],
    ...[...images, "a=b"],
  ]);
  expect(rowOf("batch/CronJob", { spec: { schedule: "@daily", suspend: true } }, "1.29")).toEqual([
    ...["x", "@daily", "True", 0, "<none>", "60m"],
    ...["", "", "<none>"],
  ]);
  expect(cellOf("batch/CronJob", "Suspend", {})).toBe("<unset>");
});

describe("the targets of an autoscaler", () => {
  const targets = (metrics: unknown, currentMetrics: unknown = [], release: "1.29" | "1.36" = "1.36"): unknown =>
    cellOf(
      "autoscaling/HorizontalPodAutoscaler",
      "Targets",
      { spec: { metrics }, status: { currentMetrics } },
      release,
    );

  test.each<[string, string, JsonObject, JsonObject?]>([
    [
      "a percentage",
      "cpu: 40%/80%",
      { type: "Resource", resource: { name: "cpu", target: { averageUtilization: 80 } } },
      { resource: { current: { averageUtilization: 40 } } },
    ],
    [
      "a percentage without a current value",
      "cpu: <unknown>/80%",
      { type: "Resource", resource: { name: "cpu", target: { averageUtilization: 80 } } },
    ],
    [
      "an absent target percentage",
      "cpu: <unknown>/<auto>",
      { type: "Resource", resource: { name: "cpu", target: {} } },
    ],
    [
      "an amount",
      "memory: 1Gi/2Gi",
      { type: "Resource", resource: { name: "memory", target: { averageValue: "2048Mi" } } },
      { resource: { current: { averageValue: "1Gi" } } },
    ],
    [
      "a container's percentage",
      "cpu: 10%/50%",
      {
        type: "ContainerResource",
        containerResource: { name: "cpu", container: "a", target: { averageUtilization: 50 } },
      },
      { containerResource: { current: { averageUtilization: 10 } } },
    ],
    [
      "a container's amount",
      "cpu: <unknown>/500m",
      { type: "ContainerResource", containerResource: { name: "cpu", target: { averageValue: "0.5" } } },
    ],
    [
      "an average of pods",
      "5/10",
      { type: "Pods", pods: { target: { averageValue: "10" } } },
      { pods: { current: { averageValue: "5" } } },
    ],
    [
      "an average of pods without a current value",
      "<unknown>/10",
      { type: "Pods", pods: { target: { averageValue: "10" } } },
    ],
    [
      "an object's value",
      "300m/2k",
      { type: "Object", object: { target: { value: "2000" } } },
      { object: { current: { value: "300m" } } },
    ],
    [
      "an object's average",
      "3/2 (avg)",
      { type: "Object", object: { target: { averageValue: "2" } } },
      { object: { current: { averageValue: "3" } } },
    ],
    ["an external value", "<unknown>/7", { type: "External", external: { target: { value: "7" } } }],
    [
      "an external average",
      "<unknown>/7 (avg)",
      { type: "External", external: { target: { averageValue: "7" } } },
      { external: { current: { value: "1" } } },
    ],
    [
      "a value that the status does not have",
      "<nil>/7",
      { type: "External", external: { target: { value: "7" } } },
      { external: { current: {} } },
    ],
    ["an unknown type", "<unknown type>", { type: "Moon" }],
  ])("show %s", (_, text, metric, current) => {
    expect(targets([metric], current === undefined ? [] : [current])).toBe(text);
  });

  test("are at most two", () => {
    const metric = { type: "Pods", pods: { target: { averageValue: "1" } } };
    expect(targets([])).toBe("<none>");
    expect(targets([metric, metric])).toBe("<unknown>/1, <unknown>/1");
    expect(targets([metric, metric, metric, metric])).toBe("<unknown>/1, <unknown>/1 + 2 more...");
  });

  test("name the measured resource from 1.30 on", () => {
    expect(
      targets([{ type: "Resource", resource: { name: "cpu", target: { averageUtilization: 80 } } }], [], "1.29"),
    ).toBe("<unknown>/80%");
  });
});

test("an autoscaler shows its minimum and maximum", () => {
  const scaleTargetRef = { kind: "Deployment", name: "web" };
  const object = { spec: { scaleTargetRef, minReplicas: 1, maxReplicas: 5 }, status: { currentReplicas: 2 } };
  const key = "autoscaling/HorizontalPodAutoscaler";
  expect(rowOf(key, object)).toEqual(["x", "Deployment/web", "<none>", "1", 5, 2, "60m"]);
  expect(cellOf(key, "MinPods", {})).toBe("<unset>");
});

test("a scale shows desired and actual replicas", () => {
  expect(rowOf("autoscaling/Scale", { spec: { replicas: 3 }, status: { replicas: 2 } })).toEqual(["x", 3, 2, "60m"]);
});
