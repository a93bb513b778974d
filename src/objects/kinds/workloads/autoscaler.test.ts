import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { AUTOSCALER, AUTOSCALER_V1 } from "./autoscaler.ts";
import { gatesOf } from "../../catalog/release-gates.ts";
import type { ReleaseName } from "../../catalog/release.ts";
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

describe("a minimal HorizontalPodAutoscaler", () => {
  test("defaults to a metric of CPU utilization", () => {
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

  test("defaults to the same CPU utilization in v1", () => {
    expect(prepared(AUTOSCALER_V1, autoscaler())).toMatchObject({
      spec: { minReplicas: 1, targetCPUUtilizationPercentage: 80 },
      status: { currentReplicas: 0, desiredReplicas: 0 },
    });
    expect(defaulted(AUTOSCALER_V1, autoscaler({ targetCPUUtilizationPercentage: 5 }))["spec"]).toHaveProperty(
      "targetCPUUtilizationPercentage",
      5,
    );
  });

  test("gets defaults for both scaling directions if it has a behavior", () => {
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
  ])("keeps or drops the tolerance in %s", (release, tolerance) => {
    const behavior = { scaleUp: { tolerance: "50m" } };
    const stored = prepared(AUTOSCALER, autoscaler({ behavior }), { ...CONTEXT, gates: gatesOf(release) });
    expect((stored as { spec: { behavior: { scaleUp: JsonObject } } }).spec.behavior.scaleUp["tolerance"]).toBe(
      tolerance,
    );
  });
});

describe("a HorizontalPodAutoscaler", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", {}, []],
    [
      "rejects an invalid range of replicas",
      { minReplicas: 0, maxReplicas: -1 },
      [
        "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
        "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
        "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
        "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
      ],
    ],
    [
      "rejects an invalid target",
      { scaleTargetRef: { apiVersion: "v1", kind: "a/b", name: "" } },
      [
        "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
        "spec.scaleTargetRef.name: Required value",
        'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
      ],
    ],
    [
      "accepts a ReplicationController without an API group as its target",
      { scaleTargetRef: { kind: "ReplicationController", name: "r" } },
      [],
    ],
    [
      "rejects an invalid behavior",
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

  test("without maxReplicas is rejected with the message of the release", () => {
    const none = autoscaler({ maxReplicas: 0, minReplicas: undefined });
    expect(created(AUTOSCALER, none)[0]).toBe("spec.maxReplicas: Required value: must be set and greater than 0");
    expect(created(AUTOSCALER, none, { ...CONTEXT, gates: gatesOf("1.35") })[0]).toBe(
      "spec.maxReplicas: Invalid value: 0: must be greater than 0",
    );
  });

  test("in v1 is rejected with the field paths of v2", () => {
    expect(created(AUTOSCALER_V1, autoscaler({ targetCPUUtilizationPercentage: 0 }))).toEqual([
      "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
    ]);
  });
});

describe("a metric", () => {
  const TYPES = 'supported values: "ContainerResource", "External", "Object", "Pods", "Resource"';

  test.each<[string, JsonObject, readonly string[]]>([
    [
      "without a type is rejected",
      {},
      [
        "spec.metrics[0].type: Required value: must specify a metric source type",
        `spec.metrics[0].type: Unsupported value: "": ${TYPES}`,
        `spec.metrics[0].type: Unsupported value: "": ${TYPES}`,
      ],
    ],
    [
      "with the source of another type is rejected",
      { type: "Pods", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 5 } } },
      ["spec.metrics[0].pods: Required value: must populate information for the given metric source"],
    ],
    [
      "without a target is rejected",
      { type: "Resource", resource: { name: "", target: { type: "Odd" } } },
      [
        "spec.metrics[0].resource.name: Required value: must specify a resource name",
        'spec.metrics[0].resource.target.type: Invalid value: "Odd": must be either Utilization, Value, or AverageValue',
        "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
      ],
    ],
    [
      "with two targets is rejected",
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
      "of an unknown container resource is rejected",
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

test("an update may keep a target without an API group, and zero replicas", () => {
  const old = autoscaler({ scaleTargetRef: { apiVersion: "v1", kind: "Deployment", name: "web" } });
  expect(updated(AUTOSCALER, old, old)).toEqual([]);
  const zero = autoscaler({ minReplicas: 0, metrics: [{ type: "External" }] });
  expect(updated(AUTOSCALER, zero, zero)).not.toContain(
    "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
  );
});

test("a status with a negative count is rejected", () => {
  expect(statusUpdated(AUTOSCALER, autoscaler(), { desiredReplicas: -1 })).toEqual([
    "status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0",
  ]);
});

describe("v1 annotations that hold v2 fields", () => {
  const PREFIX = "autoscaling.alpha.kubernetes.io";
  const CONDITIONS = { [`${PREFIX}/conditions`]: '[{"type":"AbleToScale","status":"True","lastTransitionTime":null}]' };
  const annotated = (annotations: JsonObject): JsonObject => ({
    ...autoscaler(),
    metadata: { name: "a", annotations: { mine: "kept", ...annotations } },
  });

  test("are dropped on a create if they are malformed or hold fields of the status", () => {
    const made = prepared(AUTOSCALER_V1, annotated({ ...CONDITIONS, [`${PREFIX}/behavior`]: "x/y" }));
    expect(made["metadata"]).toEqual({ name: "a", annotations: { mine: "kept" } });
  });

  test("of the status keep their stored values on an update", () => {
    const existing = defaulted(AUTOSCALER_V1, annotated(CONDITIONS));
    const next = defaulted(AUTOSCALER_V1, annotated({}));
    AUTOSCALER_V1.prepareUpdate?.(next, existing, CONTEXT);
    expect(next["metadata"]).toEqual(existing["metadata"]);
  });
});

test("a measured metric in the status of a HorizontalPodAutoscaler has all fields that Go always writes", () => {
  const object = { ...autoscaler(), status: { currentMetrics: [{ type: "Pods", pods: {} }], conditions: [{}] } };
  expect(defaulted(AUTOSCALER, object)["status"]).toMatchObject({
    currentMetrics: [{ type: "Pods", pods: { metric: {}, current: {} } }],
    conditions: [{ lastTransitionTime: null }],
  });
});
