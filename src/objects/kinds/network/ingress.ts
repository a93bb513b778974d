/** Defaults, validation and warnings of Ingresses. */
import { invalidValue } from "../../../meta/field-errors.ts";
import {
  annotationsOf,
  isJsonObject,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
  type JsonObject,
} from "../../../meta/json.ts";
import { dns1035LabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";
import { ingressStatusErrors } from "../core/services/service-status.ts";
import type { Kind, KindContext } from "../kind.ts";
import {
  backendErrors,
  hostErrors,
  ingressRuleErrors,
  serviceNameRule,
  type IngressLeniency,
} from "./ingress-rules.ts";

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

export const INGRESS: Kind = {
  setDefaults(ingress) {
    ingress["spec"] = withBackendGroups(objectAt(ingress, "spec"));
    const status = objectAt(ingress, "status");
    ingress["status"] = { ...status, loadBalancer: objectAt(status, "loadBalancer") };
  },
  prepareCreate(ingress) {
    ingress["status"] = { loadBalancer: {} };
  },
  *createErrors(ingress, context) {
    yield* specErrors(objectAt(ingress, "spec"), leniencyOf(undefined, context));
    yield* classErrors(ingress);
  },
  updateErrors: (ingress, existing, context) =>
    specErrors(objectAt(ingress, "spec"), leniencyOf(objectAt(existing, "spec"), context)),
  statusUpdateErrors: ingressStatusErrors,
  *warnings(ingress, existing) {
    const isNamed = objectAt(ingress, "spec")["ingressClassName"] !== undefined;
    if (existing === undefined && !isNamed && annotationsOf(ingress)[CLASS_ANNOTATION] !== undefined)
      yield `annotation ${JSON.stringify(CLASS_ANNOTATION)} is deprecated, please use 'spec.ingressClassName' instead`;
  },
};

/** As kubernetes: a resource backend always has its apiGroup, null for the core group. */
function withBackendGroups(spec: JsonObject): JsonObject {
  const { defaultBackend, rules } = spec;
  return {
    ...spec,
    ...(isJsonObject(defaultBackend) ? { defaultBackend: withGroup(defaultBackend) } : {}),
    ...(Array.isArray(rules)
      ? { rules: rules.map((rule: unknown) => (isJsonObject(rule) ? withPaths(rule) : rule)) }
      : {}),
  };
}

function withPaths(rule: JsonObject): JsonObject {
  const http = objectAt(rule, "http");
  if (!Array.isArray(http["paths"])) return rule;
  const paths = objectsAt(http, "paths").map((path) => ({ ...path, backend: withGroup(objectAt(path, "backend")) }));
  return { ...rule, http: { ...http, paths } };
}

function withGroup(backend: JsonObject): JsonObject {
  const { resource } = backend;
  if (!isJsonObject(resource) || resource["apiGroup"] !== undefined) return backend;
  return { ...backend, resource: { ...resource, apiGroup: null } };
}

function* classErrors(ingress: JsonObject): Generator<FieldError> {
  const annotated = annotationsOf(ingress)[CLASS_ANNOTATION];
  const named = objectAt(ingress, "spec")["ingressClassName"];
  if (annotated === undefined || named === undefined || annotated === named) return;
  const why = "must match `ingressClassName` when both are specified";
  yield invalidValue(`annotations.${CLASS_ANNOTATION}`, annotated, why);
}

/**
 * The checks to skip: if a stored object violates a check that an older release did not have, an update may keep such
 * values and add others.
 */
function leniencyOf(before: JsonObject | undefined, { gates }: KindContext): IngressLeniency {
  const rules = objectsAt(before ?? {}, "rules");
  const strict: IngressLeniency = {
    serviceNames: serviceNameRule(before, gates),
    secretNames: "checked",
    wildcardRules: "checked",
  };
  const hasBadSecret = objectsAt(before ?? {}, "tls").some(({ secretName }) => !isSecretName(secretName));
  const strictest: IngressLeniency = { ...strict, serviceNames: dns1035LabelErrors };
  const hasBadRule = rules.some(
    (rule) => stringAt(rule, "host").includes("*") && ingressRuleErrors(rule, "", strictest).next().done !== true,
  );
  return {
    ...strict,
    secretNames: hasBadSecret ? "unchecked" : "checked",
    wildcardRules: hasBadRule ? "unchecked" : "checked",
  };
}

function isSecretName(name: unknown): boolean {
  return typeof name !== "string" || name === "" || dnsSubdomainErrors(name).length === 0;
}

function* specErrors(spec: JsonObject, leniency: IngressLeniency): Generator<FieldError> {
  const rules = objectsAt(spec, "rules");
  if (rules.length === 0 && spec["defaultBackend"] === undefined)
    yield invalidValue("spec", spec["rules"] ?? null, "either `defaultBackend` or `rules` must be specified");
  if (isJsonObject(spec["defaultBackend"]))
    yield* backendErrors(spec["defaultBackend"], "spec.defaultBackend", leniency);
  for (const [index, rule] of rules.entries()) {
    const field = `spec.rules[${index}]`;
    yield* hostErrors(stringAt(rule, "host"), `${field}.host`);
    if (leniency.wildcardRules === "checked" || !stringAt(rule, "host").includes("*"))
      yield* ingressRuleErrors(rule, field, leniency);
  }
  yield* tlsErrors(spec, leniency);
  if (spec["ingressClassName"] !== undefined)
    yield* nameErrors(stringAt(spec, "ingressClassName"), "spec.ingressClassName", dnsSubdomainErrors);
}

function* tlsErrors(spec: JsonObject, leniency: IngressLeniency): Generator<FieldError> {
  for (const [index, tls] of objectsAt(spec, "tls").entries()) {
    const field = `spec.tls[${index}]`;
    for (const [at, host] of stringsAt(tls, "hosts").entries())
      yield* hostErrors(host, `${field}.hosts[${at}]`, "address or name");
    const secret = stringAt(tls, "secretName");
    if (secret !== "" && leniency.secretNames === "checked")
      yield* nameErrors(secret, `${field}.secretName`, dnsSubdomainErrors);
  }
}
