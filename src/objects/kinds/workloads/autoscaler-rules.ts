/** Validation of the spec of a HorizontalPodAutoscaler in the format of v2. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { KindContext } from "../kind.ts";
import { nanosOf } from "../../../meta/quantity.ts";
import { metricErrors } from "./autoscaler-metrics.ts";
import { apiVersionError, referenceErrors, type ReferenceCheck } from "./cross-version-reference.ts";

const PERIOD_SECONDS_MAX = 1800;
const STABILIZATION_SECONDS_MAX = 3600;

export function* autoscalerErrors(
  spec: JsonObject,
  before: JsonObject | undefined,
  context: KindContext,
): Generator<FieldError> {
  yield* replicasErrors(spec, before, context);
  yield* referenceErrors(objectAt(spec, "scaleTargetRef"), "spec.scaleTargetRef", targetCheck(spec, before, context));
  yield* metricsErrors(spec, metricsCheck(before, context));
  const { behavior } = spec;
  if (!isJsonObject(behavior)) return;
  for (const direction of ["scaleUp", "scaleDown"])
    if (isJsonObject(behavior[direction])) yield* rulesErrors(behavior[direction], `spec.behavior.${direction}`);
}

function* replicasErrors(
  spec: JsonObject,
  before: JsonObject | undefined,
  { gates }: KindContext,
): Generator<FieldError> {
  const least = before !== undefined && numberAt(before, "minReplicas") === 0 ? 0 : 1;
  const min = numberAt(spec, "minReplicas");
  const max = numberAt(spec, "maxReplicas") ?? 0;
  if (min !== undefined && min < least)
    yield invalidValue("spec.minReplicas", min, `must be greater than or equal to ${least}`);
  if (max < 1 && !gates.isOn("HPAMaxReplicasRequired"))
    yield invalidValue("spec.maxReplicas", max, "must be greater than 0");
  else if (max === 0) yield required("spec.maxReplicas", "must be set and greater than 0");
  else if (max < 0) yield invalidValue("spec.maxReplicas", max, "must be greater than or equal to 1");
  if (min !== undefined && max < min)
    yield invalidValue("spec.maxReplicas", max, "must be greater than or equal to `minReplicas`");
}

function targetCheck(spec: JsonObject, before: JsonObject | undefined, { gates }: KindContext): ReferenceCheck {
  const target = objectAt(spec, "scaleTargetRef");
  const past = before === undefined ? undefined : objectAt(before, "scaleTargetRef");
  const isSame =
    past !== undefined &&
    stringAt(past, "apiVersion") === stringAt(target, "apiVersion") &&
    stringAt(past, "kind") === stringAt(target, "kind");
  return {
    mayHaveAnyVersion: isSame || !gates.isOn("HPAReferenceAPIVersionValidation"),
    mayHaveNoGroup: target["kind"] === "ReplicationController",
  };
}

function metricsCheck(before: JsonObject | undefined, { gates }: KindContext): ReferenceCheck {
  const metrics = before === undefined ? [] : objectsAt(before, "metrics");
  const wasOdd = metrics.some(
    (metric) =>
      metric["type"] === "Object" &&
      isJsonObject(metric["object"]) &&
      apiVersionError(stringAt(objectAt(metric["object"], "describedObject"), "apiVersion"), true) !== undefined,
  );
  return { mayHaveNoGroup: true, mayHaveAnyVersion: wasOdd || !gates.isOn("HPAReferenceAPIVersionValidation") };
}

function* metricsErrors(spec: JsonObject, check: ReferenceCheck): Generator<FieldError> {
  const metrics = objectsAt(spec, "metrics");
  for (const [index, metric] of metrics.entries()) yield* metricErrors(metric, `spec.metrics[${index}]`, check);
  if (numberAt(spec, "minReplicas") !== 0) return;
  if (!metrics.some(({ type }) => type === "Object" || type === "External"))
    yield forbiddenField(
      "spec.metrics",
      "must specify at least one Object or External metric to support scaling to zero replicas",
    );
}

function* rulesErrors(rules: JsonObject, field: string): Generator<FieldError> {
  const window = numberAt(rules, "stabilizationWindowSeconds");
  const windowField = `${field}.stabilizationWindowSeconds`;
  if (window !== undefined && window < 0)
    yield invalidValue(windowField, window, "must be greater than or equal to zero");
  if (window !== undefined && window > STABILIZATION_SECONDS_MAX)
    yield invalidValue(windowField, window, `must be less than or equal to ${STABILIZATION_SECONDS_MAX}`);
  const { selectPolicy, tolerance } = rules;
  if (selectPolicy !== undefined && !["Disabled", "Max", "Min"].includes(String(selectPolicy)))
    yield unsupportedValue(`${field}.selectPolicy`, selectPolicy, ["Disabled", "Max", "Min"]);
  const policies = objectsAt(rules, "policies");
  if (policies.length === 0) yield required(`${field}.policies`, "must specify at least one Policy");
  for (const [index, policy] of policies.entries()) yield* policyErrors(policy, `${field}.policies[${index}]`);
  if (tolerance !== undefined && nanosOf(tolerance) < 0n)
    yield invalidValue(`${field}.tolerance`, tolerance, "must be greater than or equal to 0");
}

function* policyErrors(policy: JsonObject, field: string): Generator<FieldError> {
  const type = stringAt(policy, "type");
  const value = numberAt(policy, "value") ?? 0;
  const period = numberAt(policy, "periodSeconds") ?? 0;
  if (type !== "Pods" && type !== "Percent") yield unsupportedValue(`${field}.type`, type, ["Percent", "Pods"]);
  if (value <= 0) yield invalidValue(`${field}.value`, value, "must be greater than zero");
  if (period <= 0) yield invalidValue(`${field}.periodSeconds`, period, "must be greater than zero");
  if (period > PERIOD_SECONDS_MAX)
    yield invalidValue(`${field}.periodSeconds`, period, `must be less than or equal to ${PERIOD_SECONDS_MAX}`);
}
