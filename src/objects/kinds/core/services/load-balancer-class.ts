/** Validation of the load balancer class of a Service. */
import { forbiddenField } from "../../../../meta/field-errors.ts";
import type { JsonObject } from "../../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors } from "../../checks.ts";

export const BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'";

export function* loadBalancerClassErrors(spec: JsonObject): Generator<FieldError> {
  const name = spec["loadBalancerClass"];
  if (typeof name !== "string") return;
  if (spec["type"] === "LoadBalancer") yield* nameErrors(name, "spec.loadBalancerClass", qualifiedNameErrors);
  else yield forbiddenField("spec.loadBalancerClass", BALANCER_ONLY);
}
