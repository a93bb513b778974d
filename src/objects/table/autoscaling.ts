/** Rows of autoscalers, which callers pass in the format of autoscaling/v2. */
import type { JsonObject } from "../../meta/json.ts";
import { integerAt, isSetAt, itemsAt, quantityAt, textAt, valueAt, type RowPrinters } from "./row.ts";
import type { ReleaseGates } from "../release-gates.ts";

const METRICS_SHOWN = 2;

export const AUTOSCALING_PRINTERS: RowPrinters = {
  "autoscaling/HorizontalPodAutoscaler": (object, { gates }) => ({
    Reference: `${textAt(object, "spec", "scaleTargetRef", "kind")}/${textAt(object, "spec", "scaleTargetRef", "name")}`,
    Targets: metricsText(object, gates),
    MinPods: isSetAt(object, "spec", "minReplicas") ? `${integerAt(object, "spec", "minReplicas")}` : "<unset>",
    MaxPods: integerAt(object, "spec", "maxReplicas"),
    Replicas: integerAt(object, "status", "currentReplicas"),
  }),
};

function metricsText(autoscaler: JsonObject, gates: ReleaseGates): string {
  const specs = itemsAt(autoscaler, "spec", "metrics");
  if (specs.length === 0) return "<none>";
  const statuses = itemsAt(autoscaler, "status", "currentMetrics");
  const shown = specs.slice(0, METRICS_SHOWN).map((spec, index) => metricText(spec, statuses[index], gates));
  const text = shown.join(", ");
  return specs.length > METRICS_SHOWN ? `${text} + ${specs.length - METRICS_SHOWN} more...` : text;
}

function metricText(spec: JsonObject, status: JsonObject | undefined, gates: ReleaseGates): string {
  switch (spec["type"]) {
    case "External":
      return valueText(spec["external"], status?.["external"]);
    case "Object":
      return valueText(spec["object"], status?.["object"]);
    case "Pods":
      return `${averageOf(status?.["pods"])}/${quantityAt(spec["pods"], "target", "averageValue")}`;
    case "Resource":
      return resourceText(spec["resource"], status?.["resource"], gates);
    case "ContainerResource":
      return resourceText(spec["containerResource"], status?.["containerResource"], gates);
    default:
      return "<unknown type>";
  }
}

/** The measured and target value of a metric, or their averages over the pods. */
function valueText(source: unknown, status: unknown): string {
  if (isSetAt(source, "target", "averageValue")) {
    const current = isSetAt(status, "current", "averageValue") ? averageOf(status) : "<unknown>";
    return `${current}/${quantityAt(source, "target", "averageValue")} (avg)`;
  }
  const current = isSetAt(status) ? quantityAt(status, "current", "value") : "<unknown>";
  return `${current}/${quantityAt(source, "target", "value")}`;
}

function averageOf(status: unknown): string {
  return isSetAt(status) ? quantityAt(status, "current", "averageValue") : "<unknown>";
}

function resourceText(source: unknown, status: unknown, gates: ReleaseGates): string {
  const prefix = gates.isOn("HPATableResourceNames") ? `${textAt(source, "name")}: ` : "";
  if (isSetAt(source, "target", "averageValue")) {
    return `${prefix}${averageOf(status)}/${quantityAt(source, "target", "averageValue")}`;
  }
  const current = percentOf(valueAt(status, "current")) ?? "<unknown>";
  return `${prefix}${current}/${percentOf(valueAt(source, "target")) ?? "<auto>"}`;
}

function percentOf(value: unknown): string | undefined {
  return isSetAt(value, "averageUtilization") ? `${integerAt(value, "averageUtilization")}%` : undefined;
}
