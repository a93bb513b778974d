/** Validation of the traffic policies of a Service, with Kubernetes' messages. */
import { invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { enumErrors, countAt, portNumberErrors } from "../../checks.ts";
import type { KindContext } from "../../kind.ts";
import { isExternallyAccessible, needsHealthCheckPort } from "./service-fields.ts";

const POLICIES: readonly string[] = ["Cluster", "Local"];

export function* trafficErrors(spec: JsonObject, context: KindContext): Generator<FieldError> {
  yield* externalPolicyErrors(spec);
  yield* healthCheckPortErrors(spec);
  yield* internalPolicyErrors(spec);
  yield* distributionErrors(spec, context);
}

function* externalPolicyErrors(spec: JsonObject): Generator<FieldError> {
  const field = "spec.externalTrafficPolicy";
  const policy = stringAt(spec, "externalTrafficPolicy");
  if (isExternallyAccessible(spec)) yield* enumErrors(policy, field, POLICIES);
  else if (policy !== "") yield invalidValue(field, policy, "may only be set for externally-accessible services");
}

/** Accepts an absent health check node port, because the server allocates one if the service needs it. */
function* healthCheckPortErrors(spec: JsonObject): Generator<FieldError> {
  const field = "spec.healthCheckNodePort";
  const port = countAt(spec, "healthCheckNodePort");
  if (port === 0) return;
  if (needsHealthCheckPort(spec)) yield* portNumberErrors(port, field);
  else {
    const why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    yield invalidValue(field, port, why);
  }
}

const HAVE_INTERNAL_TRAFFIC: readonly string[] = ["ClusterIP", "LoadBalancer", "NodePort"];

function* internalPolicyErrors(spec: JsonObject): Generator<FieldError> {
  const field = "spec.internalTrafficPolicy";
  const policy = spec["internalTrafficPolicy"];
  if (typeof policy !== "string") {
    if (HAVE_INTERNAL_TRAFFIC.includes(stringAt(spec, "type"))) yield required(field);
  } else if (!POLICIES.includes(policy)) yield unsupportedValue(field, policy, POLICIES);
}

function* distributionErrors(spec: JsonObject, { gates }: KindContext): Generator<FieldError> {
  const distribution = spec["trafficDistribution"];
  const supported = gates.isOn("PreferSameTrafficDistribution")
    ? ["PreferClose", "PreferSameZone", "PreferSameNode"]
    : ["PreferClose"];
  if (typeof distribution === "string" && !supported.includes(distribution))
    yield unsupportedValue("spec.trafficDistribution", distribution, supported);
}
