/** Validation of the immutable fields of a Service, with Kubernetes' messages. */
import { forbiddenField, invalidValue } from "../../../../meta/field-errors.ts";
import { stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";
import { invalidStrings } from "./go-strings.ts";
import { isHeadless, needsClusterIp, needsHealthCheckPort } from "./service-fields.ts";
import { loadBalancerClassErrors } from "./load-balancer-class.ts";
import { countAt } from "../../checks.ts";

const FIXED = "may not change once set";

export function* specUpdateErrors(spec: JsonObject, before: JsonObject, context: KindContext): Generator<FieldError> {
  if (needsClusterIp(spec) && needsClusterIp(before)) {
    yield* ipUpdateErrors(spec, before, context);
    if (!isHeadless(spec) && !isHeadless(before)) yield* familyUpdateErrors(spec, before, context);
  }
  const isBalanced = spec["type"] === "LoadBalancer" && before["type"] === "LoadBalancer";
  if (isBalanced && spec["loadBalancerClass"] !== before["loadBalancerClass"])
    yield invalidValue("spec.loadBalancerClass", spec["loadBalancerClass"] ?? null, FIXED);
  yield* loadBalancerClassErrors(spec);
  if (
    needsHealthCheckPort(spec) &&
    needsHealthCheckPort(before) &&
    countAt(spec, "healthCheckNodePort") !== countAt(before, "healthCheckNodePort")
  )
    yield forbiddenField("spec.healthCheckNodePort", "field is immutable");
}

/** The cluster IP is immutable while the service is not of type ExternalName. */
function* ipUpdateErrors(spec: JsonObject, before: JsonObject, context: KindContext): Generator<FieldError> {
  if (isHeadless(spec) && isHeadless(before)) return;
  const ips = stringsAt(spec, "clusterIPs");
  const had = stringsAt(before, "clusterIPs");
  const field = (index: number): string => `spec.clusterIPs[${index}]`;
  if (had.length === ips.length) {
    for (const [index, ip] of had.entries())
      if (ip !== ips[index]) yield invalidStrings(field(index), ips, FIXED, context);
    return;
  }
  if (ips.length === 0) yield invalidStrings(field(0), ips, "primary clusterIP can not be unset", context);
  else if (had.length > 0 && had[0] !== ips[0]) yield invalidStrings(field(0), ips, FIXED, context);
}

function* familyUpdateErrors(spec: JsonObject, before: JsonObject, context: KindContext): Generator<FieldError> {
  const families = stringsAt(spec, "ipFamilies");
  const had = stringsAt(before, "ipFamilies");
  // As kubernetes: the error always names the first IP family, even if the second one has changed.
  const field = "spec.ipFamilies[0]";
  if (had.length === families.length) {
    for (const [index, family] of had.entries())
      if (family !== families[index]) yield invalidStrings(field, families, FIXED, context);
    return;
  }
  const ips = stringsAt(spec, "clusterIPs");
  if (had.length > families.length && ips.length === 0)
    yield invalidStrings(field, families, "primary ipFamily can not be unset", context);
  if (had.length > 0 && families.length > 0 && had[0] !== families[0]) yield invalidStrings(field, ips, FIXED, context);
}
