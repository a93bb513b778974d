import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { AUTOSCALER, AUTOSCALER_V1 } from "./autoscaler.ts";
import { gatesOf } from "../../catalogue/release-gates.ts";
import type { ReleaseName } from "../../catalogue/release.ts";
import {
  CONTEXT,
  created,
  defaulted,
  prepared,
  statusUpdated,
  updated,
} from "../../../../test/testing/objects/kinds/workloads/objects.ts";

function autoscaler(spec: JsonObject = {}): JsonObject {
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  return { metadata: { name: "h", namespace: "default" }, spec: { maxReplicas: 3, scaleTargetRef, ...spec } };
}

const POLICIES = {
  up: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
  down: [{ type: "Percent", value: 100, periodSeconds: 15 }],
};

describe("an autoscaler that says little", () => {
  test("looks at the CPU", () => {
    expect(prepared(AUTOSCALER, autoscaler())).toMatchObject({
      spec: {
        minReplicas: 1,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
        ],
      },
      status: { desiredReplicas: 0, currentMetrics: null },
    });
  });

  test("does the same in v1", () => {
    expect(prepared(AUTOSCALER_V1, autoscaler())).toMatchObject({
      spec: { minReplicas: 1, targetCPUUtilizationPercentage: 80 },
      status: { currentReplicas: 0, desiredReplicas: 0 },
    });
    expect(defaulted(AUTOSCALER_V1, autoscaler({ targetCPUUtilizationPercentage: 5 }))["spec"]).toHaveProperty(
      "targetCPUUtilizationPercentage",
      5,
    );
  });

  test("says how to scale both ways as soon as it says anything", () => {
    const behavior = { scaleDown: { stabilizationWindowSeconds: 60 } };
    expect(defaulted(AUTOSCALER, autoscaler({ behavior }))["spec"]).toHaveProperty("behavior", {
      scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: "Max", policies: POLICIES.up },
      scaleDown: { stabilizationWindowSeconds: 60, selectPolicy: "Max", policies: POLICIES.down },
    });
    expect(defaulted(AUTOSCALER, autoscaler())["spec"]).not.toHaveProperty("behavior");
  });

  test.each<[ReleaseName, string | undefined]>([
    ["1.34", undefined],
    ["1.35", "50m"],
  ])("has a tolerance in %s or not", (release, tolerance) => {
    const behavior = { scaleUp: { tolerance: "50m" } };
    const stored = prepared(AUTOSCALER, autoscaler({ behavior }), { ...CONTEXT, gates: gatesOf(release) });
    expect((stored as { spec: { behavior: { scaleUp: JsonObject } } }).spec.behavior.scaleUp["tolerance"]).toBe(
      tolerance,
    );
  });
});

describe("what is wrong with an autoscaler", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["nothing", {}, []],
    [
      "its range",
      { minReplicas: 0, maxReplicas: -1 },
      [
        "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
        "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
        "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
        "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
      ],
    ],
    [
      "its target",
      { scaleTargetRef: { apiVersion: "v1", kind: "a/b", name: "" } },
      [
        "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
        "spec.scaleTargetRef.name: Required value",
        'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
      ],
    ],
    ["a target without a group", { scaleTargetRef: { kind: "ReplicationController", name: "r" } }, []],
    [
      "its behavior",
      {
        behavior: {
          scaleUp: { stabilizationWindowSeconds: 3601, selectPolicy: "Some", policies: [] },
          scaleDown: { policies: [{ type: "Odd", value: 0, periodSeconds: 1801 }], tolerance: "-1" },
        },
      },
      [
        "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
        'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Some": supported values: "Disabled", "Max", "Min"',
        "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
        'spec.behavior.scaleDown.policies[0].type: Unsupported value: "Odd": supported values: "Percent", "Pods"',
        "spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero",
        "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
        'spec.behavior.scaleDown.tolerance: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
  ])("%s", (_what, spec, errors) => {
    expect(created(AUTOSCALER, autoscaler(spec))).toEqual(errors);
  });

  test("too few replicas, in the words of the release", () => {
    const none = autoscaler({ maxReplicas: 0, minReplicas: undefined });
    expect(created(AUTOSCALER, none)[0]).toBe("spec.maxReplicas: Required value: must be set and greater than 0");
    expect(created(AUTOSCALER, none, { ...CONTEXT, gates: gatesOf("1.35") })[0]).toBe(
      "spec.maxReplicas: Invalid value: 0: must be greater than 0",
    );
  });

  test("v1 is told in the fields of v2", () => {
    expect(created(AUTOSCALER_V1, autoscaler({ targetCPUUtilizationPercentage: 0 }))).toEqual([
      "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
    ]);
  });
});

describe("what is wrong with a metric", () => {
  const TYPES = 'supported values: "ContainerResource", "External", "Object", "Pods", "Resource"';

  test.each<[string, JsonObject, readonly string[]]>([
    [
      "of no type",
      {},
      [
        "spec.metrics[0].type: Required value: must specify a metric source type",
        `spec.metrics[0].type: Unsupported value: "": ${TYPES}`,
        `spec.metrics[0].type: Unsupported value: "": ${TYPES}`,
      ],
    ],
    [
      "of another type than it says",
      { type: "Pods", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 5 } } },
      ["spec.metrics[0].pods: Required value: must populate information for the given metric source"],
    ],
    [
      "that wants nothing",
      { type: "Resource", resource: { name: "", target: { type: "Odd" } } },
      [
        "spec.metrics[0].resource.name: Required value: must specify a resource name",
        'spec.metrics[0].resource.target.type: Invalid value: "Odd": must be either Utilization, Value, or AverageValue',
        "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
      ],
    ],
    [
      "that wants too much",
      {
        type: "External",
        external: { metric: { name: "q" }, target: { type: "Value", value: "0", averageValue: "1" } },
      },
      [
        'spec.metrics[0].external.target.value: Invalid value: "0": must be positive',
        "spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
      ],
    ],
    [
      "of something no container has",
      {
        type: "ContainerResource",
        containerResource: { name: "wood", container: "c", target: { type: "AverageValue", averageValue: "1" } },
      },
      [
        'spec.metrics[0].containerResource.name: Invalid value: "wood": must be a standard resource type or fully qualified',
        'spec.metrics[0].containerResource.name: Invalid value: "wood": must be a standard resource for containers',
      ],
    ],
  ])("%s", (_what, metric, errors) => {
    expect(created(AUTOSCALER, autoscaler({ metrics: [metric] }))).toEqual(errors);
  });
});

test("an update may keep the version of its target, and no replicas", () => {
  const old = autoscaler({ scaleTargetRef: { apiVersion: "v1", kind: "Deployment", name: "web" } });
  expect(updated(AUTOSCALER, old, old)).toEqual([]);
  const zero = autoscaler({ minReplicas: 0, metrics: [{ type: "External" }] });
  expect(updated(AUTOSCALER, zero, zero)).not.toContain(
    "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
  );
});

test("a status counts nothing below zero", () => {
  expect(statusUpdated(AUTOSCALER, autoscaler(), { desiredReplicas: -1 })).toEqual([
    "status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0",
  ]);
});

describe("annotations of v1 that stand for fields", () => {
  const PREFIX = "autoscaling.alpha.kubernetes.io";
  const CONDITIONS = { [`${PREFIX}/conditions`]: '[{"type":"AbleToScale","status":"True","lastTransitionTime":null}]' };
  const annotated = (annotations: JsonObject): JsonObject => ({
    ...autoscaler(),
    metadata: { name: "a", annotations: { mine: "kept", ...annotations } },
  });

  test("are gone when they cannot be read, or tell of a status that a new one does not have", () => {
    const made = prepared(AUTOSCALER_V1, annotated({ ...CONDITIONS, [`${PREFIX}/behavior`]: "x/y" }));
    expect(made["metadata"]).toEqual({ name: "a", annotations: { mine: "kept" } });
  });

  test("are those of the status that is there, whatever an update says", () => {
    const existing = defaulted(AUTOSCALER_V1, annotated(CONDITIONS));
    const next = defaulted(AUTOSCALER_V1, annotated({}));
    AUTOSCALER_V1.prepareUpdate?.(next, existing, CONTEXT);
    expect(next["metadata"]).toEqual(existing["metadata"]);
  });
});

test("what was measured is written with all its parts", () => {
  const object = { ...autoscaler(), status: { currentMetrics: [{ type: "Pods", pods: {} }], conditions: [{}] } };
  expect(defaulted(AUTOSCALER, object)["status"]).toMatchObject({
    currentMetrics: [{ type: "Pods", pods: { metric: {}, current: {} } }],
    conditions: [{ lastTransitionTime: null }],
  });
});
