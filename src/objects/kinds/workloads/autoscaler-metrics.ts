/** Validation of the metrics of a HorizontalPodAutoscaler and their targets. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors, pathSegmentErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";
import { containerResourceNameErrors } from "../core/resource-amounts.ts";
import { nanosOf } from "../../../meta/quantity.ts";
import { referenceErrors, type ReferenceCheck } from "./cross-version-reference.ts";

/** Maps each metric type to the field that holds its source, in the order in which kubernetes checks the types. */
const SOURCES: ReadonlyMap<string, string> = new Map([
  ["Object", "object"],
  ["External", "external"],
  ["Pods", "pods"],
  ["Resource", "resource"],
  ["ContainerResource", "containerResource"],
]);
const TYPES: readonly string[] = [...SOURCES.keys()].sort();

export function* metricErrors(metric: JsonObject, field: string, check: ReferenceCheck): Generator<FieldError> {
  const type = stringAt(metric, "type");
  const expected = SOURCES.get(type);
  if (type === "") yield required(`${field}.type`, "must specify a metric source type");
  if (expected === undefined) yield unsupportedValue(`${field}.type`, type, TYPES);
  const present = [...SOURCES.values()].filter((source) => isJsonObject(metric[source]));
  const [first] = present;
  if (first !== undefined) yield* sourceErrors(first, objectAt(metric, first), `${field}.${first}`, check);
  if (expected === undefined) yield unsupportedValue(`${field}.type`, type, TYPES);
  else if (!present.includes(expected))
    yield required(`${field}.${expected}`, "must populate information for the given metric source");
  if (present.length === 1) return;
  for (const source of present)
    if (source !== expected) yield forbiddenField(`${field}.${source}`, "must populate the given metric source only");
}

function* sourceErrors(name: string, source: JsonObject, field: string, check: ReferenceCheck): Generator<FieldError> {
  if (name === "object") yield* referenceErrors(objectAt(source, "describedObject"), `${field}.describedObject`, check);
  if (name === "resource" || name === "containerResource") yield* resourceErrors(name, source, field);
  else yield* metricNameErrors(objectAt(source, "metric"), `${field}.metric.name`);
  yield* targetErrors(objectAt(source, "target"), `${field}.target`);
  yield* targetKindErrors(name, objectAt(source, "target"), `${field}.target`);
}

function* resourceErrors(name: string, source: JsonObject, field: string): Generator<FieldError> {
  const resource = stringAt(source, "name");
  if (resource === "") yield required(`${field}.name`, "must specify a resource name");
  if (name === "resource") return;
  if (resource !== "") yield* containerResourceNameErrors(resource, `${field}.name`);
  const container = stringAt(source, "container");
  if (container === "") yield required(`${field}.container`, "must specify a container");
  else yield* nameErrors(container, `${field}.container`, dnsLabelErrors);
}

function* metricNameErrors(metric: JsonObject, field: string): Generator<FieldError> {
  const name = stringAt(metric, "name");
  if (name === "") yield required(field, "must specify a metric name");
  else yield* nameErrors(name, field, pathSegmentErrors);
}

function* targetErrors(target: JsonObject, field: string): Generator<FieldError> {
  const type = stringAt(target, "type");
  if (type === "") yield required(`${field}.type`, "must specify a metric target type");
  if (type !== "Utilization" && type !== "Value" && type !== "AverageValue")
    yield invalidValue(`${field}.type`, type, "must be either Utilization, Value, or AverageValue");
  for (const quantity of ["value", "averageValue"])
    if (target[quantity] !== undefined && nanosOf(target[quantity]) <= 0n)
      yield invalidValue(`${field}.${quantity}`, target[quantity], "must be positive");
  const utilization = numberAt(target, "averageUtilization");
  if (utilization !== undefined && utilization < 1)
    yield invalidValue(`${field}.averageUtilization`, utilization, "must be greater than 0");
}

function* targetKindErrors(name: string, target: JsonObject, field: string): Generator<FieldError> {
  const { value, averageValue } = target;
  const hasAverage = averageValue !== undefined;
  if (name === "pods" && !hasAverage)
    yield required(`${field}.averageValue`, "must specify a positive target averageValue");
  if (name === "object" && !hasAverage && value === undefined)
    yield required(`${field}.averageValue`, "must set either a target value or averageValue");
  if (name === "external" && !hasAverage && value === undefined)
    yield required(`${field}.averageValue`, "must set either a target value for metric or a per-pod target");
  if (name === "external" && hasAverage && value !== undefined)
    yield forbiddenField(`${field}.value`, "may not set both a target value for metric and a per-pod target");
  if (name === "resource" || name === "containerResource") yield* resourceTargetErrors(target, field);
}

function* resourceTargetErrors({ averageValue, averageUtilization }: JsonObject, field: string): Generator<FieldError> {
  if (averageValue === undefined && averageUtilization === undefined)
    yield required(`${field}.averageUtilization`, "must set either a target raw value or a target utilization");
  if (averageValue !== undefined && averageUtilization !== undefined)
    yield forbiddenField(`${field}.averageValue`, "may not set both a target raw value and a target utilization");
}
