/**
 * Converts between the two formats of an autoscaler's metrics. In autoscaling/v2 a metric nests its source and its
 * target or current value; in autoscaling/v2beta1, and in the annotations of autoscaling/v1, it is flat. The flat
 * format of kube-apiserver has no field for some values of the nested format. This server writes these values under
 * similar names, which kube-apiserver ignores.
 */
import { isJsonObject, objectAt, type JsonObject } from "../../meta/json.ts";
import { omitMembers, presentMembers } from "./members.ts";

const SOURCES: readonly string[] = Object.freeze(["object", "pods", "resource", "containerResource", "external"]);

/** Whether a metric is a target (spec) or a measured value (status). */
type MetricRole = "target" | "current";

export function flattenMetric(metric: JsonObject, role: MetricRole): JsonObject {
  return reshapeSources(metric, (source, name) => flattenSource(source, name, role));
}

export function nestMetric(metric: JsonObject, role: MetricRole): JsonObject {
  return reshapeSources(metric, (source, name) => nestSource(source, name, role));
}

function reshapeSources(metric: JsonObject, reshape: (source: JsonObject, name: string) => JsonObject): JsonObject {
  const sources: JsonObject = {};
  for (const name of SOURCES) {
    const source = metric[name];
    if (isJsonObject(source)) sources[name] = reshape(source, name);
  }
  return { type: metric["type"], ...sources, ...omitMembers(metric, ["type", ...SOURCES]) };
}

/** Writes the fields in the order in which kube-apiserver writes them. */
function flattenSource(source: JsonObject, name: string, role: MetricRole): JsonObject {
  const metric = objectAt(source, "metric");
  const values = objectAt(source, role);
  const names = flatNames(name, role);
  const type = values["type"];
  const flat = presentMembers({
    name: source["name"],
    target: source["describedObject"],
    metricName: metric["name"],
    ...(name === "external" && { metricSelector: metric["selector"] }),
    [names.averageUtilization]: values["averageUtilization"],
    [names.value]: values["value"] ?? impliedZero(names, values),
    ...(name === "object" && { selector: metric["selector"] }),
    [names.averageValue]: values["averageValue"],
    [names.selector]: metric["selector"],
    container: source["container"],
    [names.type]: type === impliedType(name, values) ? undefined : type,
  });
  return { ...flat, ...omitMembers(source, ["name", "describedObject", "metric", role, "container"]) };
}

function nestSource(source: JsonObject, name: string, role: MetricRole): JsonObject {
  const names = flatNames(name, role);
  const values = presentMembers({
    value: source[names.value],
    averageValue: source[names.averageValue],
    averageUtilization: source[names.averageUtilization],
  });
  const isImplied = names.hasImpliedZero && values["averageValue"] !== undefined && isZero(values["value"]);
  const known = isImplied ? omitMembers(values, ["value"]) : values;
  const type = role === "target" ? { type: source[names.type] ?? impliedType(name, known) } : {};
  const metric = presentMembers({ name: source["metricName"], selector: source[names.selector] });
  const nested = presentMembers({
    name: source["name"],
    container: source["container"],
    describedObject: name === "object" ? source["target"] : undefined,
    metric: Object.keys(metric).length === 0 ? undefined : metric,
    [role]: { ...type, ...known },
  });
  const { selector, value, averageValue, averageUtilization } = names;
  const flatOnly = ["target", "metricName", selector, value, averageValue, averageUtilization, names.type];
  return { ...nested, ...omitMembers(source, ["name", "container", ...flatOnly]) };
}

interface FlatNames {
  readonly selector: string;
  readonly value: string;
  readonly averageValue: string;
  readonly averageUtilization: string;
  readonly type: string;
  /**
   * Whether the flat format requires a value: for the target of an object metric, 0 is written if the metric has only
   * an average value.
   */
  readonly hasImpliedZero: boolean;
}

function flatNames(source: string, role: MetricRole): FlatNames {
  return {
    selector: source === "external" ? "metricSelector" : "selector",
    value: `${role}Value`,
    averageValue: source === "object" ? "averageValue" : `${role}AverageValue`,
    averageUtilization: `${role}AverageUtilization`,
    type: `${role}Type`,
    hasImpliedZero: source === "object" && role === "target",
  };
}

function impliedZero(names: FlatNames, values: JsonObject): string | undefined {
  return names.hasImpliedZero && values["averageValue"] !== undefined ? "0" : undefined;
}

function impliedType(source: string, values: JsonObject): string {
  switch (source) {
    case "pods":
      return "AverageValue";
    case "object":
      return values["averageValue"] === undefined ? "Value" : "AverageValue";
    case "external":
      return values["value"] === undefined ? "AverageValue" : "Value";
    default:
      return values["averageUtilization"] === undefined ? "AverageValue" : "Utilization";
  }
}

function isZero(quantity: unknown): boolean {
  return quantity === 0 || (typeof quantity === "string" && /^[+-]?[0.]+([A-Za-z]{1,2}|[eE][+-]?\d+)?$/.test(quantity));
}
