/** Defaults and validation of IngressClasses. */
import { forbiddenField, required, tooLong, unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { immutableErrors, nameErrors } from "../checks.ts";
import { domainPrefixedPathErrors } from "../core/name-checks.ts";
import type { Kind } from "../kind.ts";
import { segmentErrors } from "./references.ts";

export const INGRESS_CLASS: Kind = {
  setDefaults(ingressClass) {
    const spec = objectAt(ingressClass, "spec");
    const { parameters } = spec;
    ingressClass["spec"] = isJsonObject(parameters)
      ? { ...spec, parameters: { ...parameters, scope: parameters["scope"] ?? "Cluster" } }
      : spec;
  },
  createErrors: (ingressClass) => specErrors(objectAt(ingressClass, "spec")),
  *updateErrors(ingressClass, existing) {
    const spec = objectAt(ingressClass, "spec");
    const before = stringAt(objectAt(existing, "spec"), "controller");
    yield* immutableErrors(stringAt(spec, "controller"), before, "spec.controller");
    yield* specErrors(spec);
  },
};

const CONTROLLER_BYTES_MAX = 250;
const SCOPES: readonly string[] = ["Cluster", "Namespace"];

function* specErrors(spec: JsonObject): Generator<FieldError> {
  const controller = stringAt(spec, "controller");
  if (Buffer.byteLength(controller) > CONTROLLER_BYTES_MAX) yield tooLong("spec.controller", CONTROLLER_BYTES_MAX);
  yield* domainPrefixedPathErrors(controller, "spec.controller");
  if (isJsonObject(spec["parameters"])) yield* parameterErrors(spec["parameters"], "spec.parameters");
}

function* parameterErrors(parameters: JsonObject, field: string): Generator<FieldError> {
  if (parameters["apiGroup"] !== undefined)
    yield* nameErrors(stringAt(parameters, "apiGroup"), `${field}.apiGroup`, dnsSubdomainErrors);
  yield* segmentErrors(parameters, "kind", field);
  yield* segmentErrors(parameters, "name", field);
  const scope = stringAt(parameters, "scope");
  const { namespace } = parameters;
  if (!SCOPES.includes(scope)) yield unsupportedValue(`${field}.scope`, scope, SCOPES);
  else if (scope === "Cluster") {
    if (namespace !== undefined) yield forbiddenField(`${field}.namespace`, "`parameters.scope` is set to 'Cluster'");
  } else if (typeof namespace !== "string")
    yield required(`${field}.namespace`, "`parameters.scope` is set to 'Namespace'");
  else yield* nameErrors(namespace, `${field}.namespace`, dnsLabelErrors);
}
