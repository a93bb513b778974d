/** Defaults and validation of HorizontalPodAutoscalers. */
import type { GroupVersion } from "../../../meta/group-version.ts";
import { isJsonObject, objectAt, objectsAt, specOf, statusOf, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { convertObject } from "../../conversion/convert.ts";
import type { Kind, KindContext } from "../kind.ts";
import { autoscalerErrors } from "./autoscaler-rules.ts";
import { negativeCountErrors, setConditionTimes, setStatusCounts } from "./status-counts.ts";
import { structAt } from "../defaults.ts";

const V1: GroupVersion = { group: "autoscaling", version: "v1" };
const V2: GroupVersion = { group: "autoscaling", version: "v2" };

const CPU_UTILIZATION_PERCENT = 80;
const SCALE_PERIOD_SECONDS = 15;

export const AUTOSCALER: Kind = {
  setDefaults: setAutoscalerDefaults,
  prepareCreate(autoscaler, context) {
    autoscaler["status"] = {};
    setStatusDefaults(autoscaler);
    dropTolerance(autoscaler, undefined, context);
  },
  prepareUpdate: dropTolerance,
  createErrors: (autoscaler, context) => autoscalerErrors(specOf(autoscaler), undefined, context),
  updateErrors: (autoscaler, existing, context) => autoscalerErrors(specOf(autoscaler), specOf(existing), context),
  statusUpdateErrors: statusErrors,
};

/** v1 is validated by the rules of v2, because its annotations hold the v2 fields that v1 lacks. */
export const AUTOSCALER_V1: Kind = {
  setDefaults(autoscaler) {
    const spec = structAt(autoscaler, "spec");
    spec["minReplicas"] ??= 1;
    const readable = convertObject(inV2(autoscaler), V2, V1);
    spec["targetCPUUtilizationPercentage"] ??= specOf(readable)["targetCPUUtilizationPercentage"];
    setAnnotations(autoscaler, readable, CARRYING);
    setStatusCounts(autoscaler, ["currentReplicas", "desiredReplicas"]);
  },
  prepareCreate(autoscaler) {
    autoscaler["status"] = { currentReplicas: 0, desiredReplicas: 0 };
    setAnnotations(autoscaler, {}, CARRYING_STATUS);
  },
  prepareUpdate: (autoscaler, existing) => setAnnotations(autoscaler, existing, CARRYING_STATUS),
  prepareStatusUpdate: (autoscaler, existing) => setAnnotations(autoscaler, existing, CARRYING_SPEC),
  createErrors: (autoscaler, context) => autoscalerErrors(specOf(inV2(autoscaler)), undefined, context),
  updateErrors: (autoscaler, existing, context) =>
    autoscalerErrors(specOf(inV2(autoscaler)), specOf(inV2(existing)), context),
  statusUpdateErrors: statusErrors,
};

const CARRYING_SPEC = ["metrics", "behavior"].map((name) => `autoscaling.alpha.kubernetes.io/${name}`);
const CARRYING_STATUS = ["current-metrics", "conditions"].map((name) => `autoscaling.alpha.kubernetes.io/${name}`);
const CARRYING: readonly string[] = [...CARRYING_SPEC, ...CARRYING_STATUS];

/**
 * Sets the named annotations in place to those of `source`, because they hold v2 fields that clients must not set
 * freely.
 */
function setAnnotations(autoscaler: JsonObject, source: JsonObject, names: readonly string[]): void {
  const metadata = objectAt(autoscaler, "metadata");
  const before = objectAt(metadata, "annotations");
  const found = objectAt(objectAt(source, "metadata"), "annotations");
  if (names.every((name) => before[name] === found[name])) return;
  const annotations = { ...before };
  for (const name of names)
    if (found[name] === undefined) delete annotations[name];
    else annotations[name] = found[name];
  if (Object.keys(annotations).length > 0) metadata["annotations"] = annotations;
  else delete metadata["annotations"];
}

function inV2(autoscaler: JsonObject): JsonObject {
  return convertObject({ ...autoscaler, kind: "HorizontalPodAutoscaler" }, V1, V2);
}

function setAutoscalerDefaults(autoscaler: JsonObject): void {
  const spec = structAt(autoscaler, "spec");
  spec["minReplicas"] ??= 1;
  if (objectsAt(spec, "metrics").length === 0) spec["metrics"] = [cpuMetric()];
  setBehaviorDefaults(spec);
  setStatusDefaults(autoscaler);
}

function cpuMetric(): JsonObject {
  const target = { type: "Utilization", averageUtilization: CPU_UTILIZATION_PERCENT };
  return { type: "Resource", resource: { name: "cpu", target } };
}

/** Fields of a measured metric that Go always writes. */
const MEASURED: Readonly<Record<string, readonly string[]>> = {
  resource: ["current"],
  containerResource: ["current"],
  pods: ["metric", "current"],
  object: ["metric", "current", "describedObject"],
  external: ["metric", "current"],
};

/** As kubernetes: an empty list of metrics is written as null. */
function setStatusDefaults(autoscaler: JsonObject): void {
  setStatusCounts(autoscaler, ["desiredReplicas"]);
  const status = statusOf(autoscaler);
  status["currentMetrics"] ??= null;
  setConditionTimes(autoscaler, ["lastTransitionTime"]);
  for (const metric of objectsAt(status, "currentMetrics")) setMeasuredDefaults(metric);
}

function setMeasuredDefaults(metric: JsonObject): void {
  for (const [type, members] of Object.entries(MEASURED)) {
    const measured = metric[type];
    if (isJsonObject(measured)) for (const member of members) measured[member] ??= {};
  }
}

/** If the spec has a behavior, both directions get complete defaults. */
function setBehaviorDefaults(spec: JsonObject): void {
  if (spec["behavior"] === undefined) return;
  const behavior = objectAt(spec, "behavior");
  behavior["scaleUp"] = {
    stabilizationWindowSeconds: 0,
    selectPolicy: "Max",
    policies: [scalingPolicy("Pods", 4), scalingPolicy("Percent", 100)],
    ...objectAt(behavior, "scaleUp"),
  };
  behavior["scaleDown"] = {
    selectPolicy: "Max",
    policies: [scalingPolicy("Percent", 100)],
    ...objectAt(behavior, "scaleDown"),
  };
}

function scalingPolicy(type: string, value: number): JsonObject {
  return { type, value, periodSeconds: SCALE_PERIOD_SECONDS };
}

function dropTolerance(autoscaler: JsonObject, existing: JsonObject | undefined, { gates }: KindContext): void {
  if (gates.isOn("HPAConfigurableTolerance") || (existing !== undefined && hasTolerance(existing))) return;
  const spec = specOf(autoscaler);
  if (!hasTolerance(autoscaler)) return;
  const behavior = { ...objectAt(spec, "behavior") };
  for (const direction of Object.keys(behavior)) {
    const { tolerance: _tolerance, ...rules } = objectAt(behavior, direction);
    behavior[direction] = rules;
  }
  spec["behavior"] = behavior;
}

function hasTolerance(autoscaler: JsonObject): boolean {
  const behavior = objectAt(specOf(autoscaler), "behavior");
  return ["scaleUp", "scaleDown"].some((direction) => objectAt(behavior, direction)["tolerance"] !== undefined);
}

function statusErrors(autoscaler: JsonObject): Iterable<FieldError> {
  return negativeCountErrors(statusOf(autoscaler), ["currentReplicas", "desiredReplicas"]);
}
