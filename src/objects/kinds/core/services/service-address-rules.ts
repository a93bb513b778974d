/** Validation of external IPs and load balancer source ranges, with Kubernetes' messages. */
import { forbiddenField } from "../../../../meta/field-errors.ts";
import { objectAt, specOf, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";
import { endpointIpErrors, legacyCidrErrors, legacyIpErrors } from "../../network/ip-checks.ts";
import { BALANCER_ONLY } from "./load-balancer-class.ts";

export function* externalIpErrors(
  spec: JsonObject,
  service: JsonObject | undefined,
  context: KindContext,
): Generator<FieldError> {
  const existing = new Set(stringsAt(specOf(service ?? {}), "externalIPs"));
  for (const [index, ip] of stringsAt(spec, "externalIPs").entries()) {
    const field = `spec.externalIPs[${index}]`;
    const errors = [...legacyIpErrors(ip, { field, existing }, context)];
    yield* errors.length > 0 ? errors : endpointIpErrors(ip, field);
  }
}

const SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges";

/** Source ranges are in their field or, if it is empty, in the older annotation. */
export function* sourceRangeErrors(
  service: JsonObject,
  existing: JsonObject | undefined,
  context: KindContext,
): Generator<FieldError> {
  const spec = specOf(service);
  const ranges = stringsAt(spec, "loadBalancerSourceRanges");
  const annotation = annotatedRanges(service);
  // As kubernetes: the path begins with a capital letter, unlike the field.
  const field = ranges.length > 0 ? "spec.LoadBalancerSourceRanges" : `metadata.annotations[${SOURCE_RANGES}]`;
  if (ranges.length === 0 && annotation === undefined) return;
  if (spec["type"] !== "LoadBalancer") yield forbiddenField(field, BALANCER_ONLY);
  if (ranges.length > 0) {
    const known = new Set(stringsAt(specOf(existing ?? {}), "loadBalancerSourceRanges").map((range) => range.trim()));
    for (const [index, range] of ranges.entries())
      yield* legacyCidrErrors(range.trim(), { field: `${field}[${index}]`, existing: known }, context);
  } else if (annotation !== undefined && annotation.trim() !== "" && annotation !== annotatedRanges(existing ?? {}))
    for (const range of annotation.split(",")) yield* legacyCidrErrors(range.trim(), { field }, context);
}

function annotatedRanges(service: JsonObject): string | undefined {
  const value = objectAt(objectAt(service, "metadata"), "annotations")[SOURCE_RANGES];
  return typeof value === "string" ? value : undefined;
}
