/** Converts HorizontalPodAutoscalers: v1, v2beta1 and v2beta2 use annotations for the fields of v2 that they lack. */
import { annotationsOf, isJsonObject, jsonEquals, objectAt, type JsonObject } from "../../meta/json.ts";
import { decodeAnnotation, decodeBehavior, encodeAnnotation, encodeBehavior } from "./autoscaling-annotations.ts";
import { flattenMetric, nestMetric } from "./autoscaling-metrics.ts";
import { changeAnnotations, omitMembers, presentMembers, updateItems, updateObject } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

const METRICS = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior";
const TOLERANCES: Readonly<Record<string, string>> = Object.freeze({
  scaleDown: "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
  scaleUp: "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
});

const DEFAULT_CPU_UTILIZATION = 80;

const CONDITION_ORDER: readonly string[] = ["type", "status", "lastTransitionTime", "reason", "message"];

/**
 * Changes that remove all annotations in which other versions store fields of v2. On a v2 object these annotations have
 * no effect.
 */
const NO_CARRIED_ANNOTATIONS: Readonly<Record<string, undefined>> = Object.freeze(
  Object.fromEntries(
    [METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR, ...Object.values(TOLERANCES)].map((key) => [key, undefined]),
  ),
);

export const AUTOSCALING_SHAPES: readonly KindShapes[] = Object.freeze([
  {
    kinds: ["HorizontalPodAutoscaler"],
    hub: ["autoscaling/v2"],
    spokes: [
      { versions: ["autoscaling/v1"], toHub: fromV1, fromHub: toV1 },
      { versions: ["autoscaling/v2beta1"], toHub: fromV2beta1, fromHub: toV2beta1 },
      { versions: ["autoscaling/v2beta2"], toHub: fromV2beta2, fromHub: toV2beta2 },
    ],
  },
]);

/** Stores the first CPU utilization metric in a field of v1, and all other metrics in an annotation. */
function toV1(autoscaler: JsonObject): JsonObject {
  const { metrics, behavior, ...spec } = objectAt(autoscaler, "spec");
  const { currentMetrics, conditions, ...status } = objectAt(autoscaler, "status");
  const wanted = objectsIn(metrics);
  const cpu = wanted.find((metric) => cpuUtilization(metric, "target") !== undefined);
  const others = wanted.filter((metric) => metric !== cpu).map((metric) => flattenMetric(metric, "target"));
  const measured = objectsIn(currentMetrics);
  const percentages = measured.map((metric) => cpuUtilization(metric, "current"));
  const percentage = percentages.findLast((value) => value !== undefined);
  const isSaidByPercentage = jsonEquals(measured, cpuStatus(percentage));
  const reshaped = {
    ...autoscaler,
    spec: { ...spec, ...presentMembers({ targetCPUUtilizationPercentage: cpu && cpuUtilization(cpu, "target") }) },
    ...(isJsonObject(autoscaler["status"]) && {
      status: { currentReplicas: 0, ...status, ...presentMembers({ currentCPUUtilizationPercentage: percentage }) },
    }),
  };
  const flatStatus = isSaidByPercentage ? [] : measured.map((metric) => flattenMetric(metric, "current"));
  return changeAnnotations(reshaped, {
    ...NO_CARRIED_ANNOTATIONS,
    [METRICS]: encodeAnnotation(others),
    [CURRENT_METRICS]: encodeAnnotation(flatStatus),
    [BEHAVIOR]: encodeBehavior(behavior),
    [CONDITIONS]: encodeAnnotation(objectsIn(conditions).map(orderCondition)),
  });
}

function fromV1(autoscaler: JsonObject): JsonObject {
  const annotations = annotationsOf(autoscaler);
  const { targetCPUUtilizationPercentage, ...spec } = omitMembers(objectAt(autoscaler, "spec"), [
    "metrics",
    "behavior",
  ]);
  const others = (decodeAnnotation(annotations[METRICS]) ?? []).map((metric) => nestMetric(metric, "target"));
  const metrics = [...others, ...cpuTarget(targetCPUUtilizationPercentage)];
  const behavior = decodeBehavior(annotations[BEHAVIOR]);
  const status = statusFromV1(autoscaler, annotations);
  const reshaped = {
    ...autoscaler,
    spec: {
      ...spec,
      metrics: metrics.length > 0 ? metrics : cpuTarget(DEFAULT_CPU_UTILIZATION),
      ...presentMembers({ behavior }),
    },
    ...presentMembers({ status }),
  };
  return changeAnnotations(reshaped, NO_CARRIED_ANNOTATIONS);
}

/**
 * As Go encodes the types: a v1 status always has currentReplicas; a v2 status omits it if it is zero, but always has
 * currentMetrics.
 */
function statusFromV1(autoscaler: JsonObject, annotations: JsonObject): JsonObject | undefined {
  const carriedMetrics = decodeAnnotation(annotations[CURRENT_METRICS])?.map((metric) => nestMetric(metric, "current"));
  const conditions = decodeAnnotation(annotations[CONDITIONS]);
  const before = autoscaler["status"];
  if (!isJsonObject(before) && carriedMetrics === undefined && conditions === undefined) return undefined;
  const { currentCPUUtilizationPercentage, ...status } = omitMembers(objectAt(autoscaler, "status"), [
    "currentMetrics",
    "conditions",
  ]);
  const currentMetrics = carriedMetrics ?? cpuStatus(currentCPUUtilizationPercentage);
  return {
    ...(status["currentReplicas"] === 0 ? omitMembers(status, ["currentReplicas"]) : status),
    currentMetrics: currentMetrics.length > 0 ? currentMetrics : null,
    ...presentMembers({ conditions }),
  };
}

function cpuUtilization(metric: JsonObject, role: "target" | "current"): unknown {
  const resource = objectAt(metric, "resource");
  if (metric["type"] !== "Resource" || resource["name"] !== "cpu") return undefined;
  return objectAt(resource, role)["averageUtilization"] ?? undefined;
}

function cpuTarget(percentage: unknown): JsonObject[] {
  if (percentage === undefined || percentage === null) return [];
  const target = { type: "Utilization", averageUtilization: percentage };
  return [{ type: "Resource", resource: { name: "cpu", target } }];
}

function cpuStatus(percentage: unknown): JsonObject[] {
  if (percentage === undefined || percentage === null) return [];
  return [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: percentage } } }];
}

function toV2beta1(autoscaler: JsonObject): JsonObject {
  const { behavior } = objectAt(autoscaler, "spec");
  const reshaped = reshapeMetrics(autoscaler, flattenMetric);
  return changeAnnotations(
    updateObject(reshaped, "spec", (spec) => omitMembers(spec, ["behavior"])),
    { ...NO_CARRIED_ANNOTATIONS, [BEHAVIOR]: encodeBehavior(behavior) },
  );
}

function fromV2beta1(autoscaler: JsonObject): JsonObject {
  const behavior = decodeBehavior(annotationsOf(autoscaler)[BEHAVIOR]);
  const reshaped = updateObject(reshapeMetrics(autoscaler, nestMetric), "spec", (spec) => ({
    ...omitMembers(spec, ["behavior"]),
    ...presentMembers({ behavior }),
  }));
  return changeAnnotations(reshaped, NO_CARRIED_ANNOTATIONS);
}

function reshapeMetrics(autoscaler: JsonObject, reshape: typeof flattenMetric): JsonObject {
  const inSpec = updateObject(autoscaler, "spec", (spec) =>
    updateItems(spec, "metrics", (metric) => reshape(metric, "target")),
  );
  return updateObject(inSpec, "status", (status) =>
    updateItems(status, "currentMetrics", (metric) => reshape(metric, "current")),
  );
}

/** v2beta2 lacks only the tolerances of v2. */
function toV2beta2(autoscaler: JsonObject): JsonObject {
  const behavior = objectAt(objectAt(autoscaler, "spec"), "behavior");
  const tolerances = Object.entries(TOLERANCES).map(([direction, key]) => {
    const tolerance = objectAt(behavior, direction)["tolerance"];
    return [
      key,
      tolerance === undefined || tolerance === null ? undefined : `${tolerance as string | number}`,
    ] as const;
  });
  const reshaped = updateObject(autoscaler, "spec", (spec) =>
    updateObject(spec, "behavior", (rules) =>
      Object.keys(TOLERANCES).reduce((changed, direction) => updateObject(changed, direction, withoutTolerance), rules),
    ),
  );
  return changeAnnotations(reshaped, { ...NO_CARRIED_ANNOTATIONS, ...Object.fromEntries(tolerances) });
}

function withoutTolerance(rules: JsonObject): JsonObject {
  return omitMembers(rules, ["tolerance"]);
}

function fromV2beta2(autoscaler: JsonObject): JsonObject {
  const annotations = annotationsOf(autoscaler);
  const spec = objectAt(autoscaler, "spec");
  const before = objectAt(spec, "behavior");
  const carried = Object.entries(TOLERANCES).flatMap(([direction, key]) => {
    const tolerance = annotations[key];
    return tolerance === undefined ? [] : [[direction, { ...objectAt(before, direction), tolerance }] as const];
  });
  if (carried.length === 0) return changeAnnotations(autoscaler, NO_CARRIED_ANNOTATIONS);
  const behavior = { ...before, ...Object.fromEntries(carried) };
  return changeAnnotations({ ...autoscaler, spec: { ...spec, behavior } }, NO_CARRIED_ANNOTATIONS);
}

function orderCondition(condition: JsonObject): JsonObject {
  const known = CONDITION_ORDER.map((key) => [key, condition[key]] as const);
  const present = known.filter(
    ([key, value]) => value !== undefined && (value !== null || key === "lastTransitionTime"),
  );
  return { ...Object.fromEntries(present), ...omitMembers(condition, CONDITION_ORDER) };
}

function objectsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
