/** Validation of Services, with Kubernetes' messages. */
import { firstErrors, forbiddenField, invalidValue, required } from "../../../../meta/field-errors.ts";
import { isJsonObject, objectAt, specOf, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import { dns1035LabelErrors, dnsLabelErrors, dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { enumErrors, labelsErrors, nameErrors } from "../../checks.ts";
import type { KindContext } from "../../kind.ts";
import { clusterIpErrors } from "./cluster-ip-rules.ts";
import { BALANCER_ONLY, loadBalancerClassErrors } from "./load-balancer-class.ts";
import { planIpFamilies } from "./ip-families.ts";
import { externalIpErrors, sourceRangeErrors } from "./service-address-rules.ts";
import { HEADLESS, isHeadless, needsClusterIp, needsNodePorts, portsOf } from "./service-fields.ts";
import { nodePortErrors, portErrors, repeatedPortErrors } from "./service-port-rules.ts";
import { trafficErrors } from "./service-traffic-rules.ts";
import { specUpdateErrors } from "./service-update-rules.ts";

export function* serviceErrors(service: JsonObject, context: KindContext): Generator<FieldError> {
  const addressErrors = firstErrors(allocationErrors(specOf(service), undefined, context));
  // As kubernetes: cluster IPs are allocated before validation, so if they are invalid, no other errors are reported.
  if (addressErrors.length > 0) yield* addressErrors;
  else {
    yield* serviceNameErrors(objectAt(service, "metadata"), context);
    yield* allErrors(service, undefined, context);
  }
}

function* serviceNameErrors(metadata: JsonObject, { gates }: KindContext): Generator<FieldError> {
  const rule = gates.isOn("RelaxedServiceNameValidation") ? dnsLabelErrors : dns1035LabelErrors;
  const base = stringAt(metadata, "generateName");
  // Because a generated suffix follows the base, the base may end with a hyphen.
  for (const sentence of base === "" ? [] : rule(base.replace(/-$/, "a")))
    yield invalidValue("metadata.generateName", base, sentence);
  const name = stringAt(metadata, "name");
  if (name !== "") yield* nameErrors(name, "metadata.name", rule);
}

export function* serviceUpdateErrors(
  service: JsonObject,
  existing: JsonObject,
  context: KindContext,
): Generator<FieldError> {
  const addressErrors = firstErrors(allocationErrors(specOf(service), specOf(existing), context));
  if (addressErrors.length > 0) {
    yield* addressErrors;
    return;
  }
  // DIFFERS: no cluster IP is allocated yet, so the errors do not show the address that an update adds.
  const { spec } = planIpFamilies(specOf(service), specOf(existing), context);
  yield* specUpdateErrors(spec, specOf(existing), context);
  yield* allErrors(service, existing, context);
}

/** `before`: the stored spec, if there is one. */
function* allocationErrors(
  spec: JsonObject,
  before: JsonObject | undefined,
  context: KindContext,
): Generator<FieldError> {
  const errors = firstErrors(clusterIpErrors(spec, before, context));
  yield* errors.length > 0 ? errors : planIpFamilies(spec, before, context).errors;
}

const TYPES: readonly string[] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

function* allErrors(
  service: JsonObject,
  existing: JsonObject | undefined,
  context: KindContext,
): Generator<FieldError> {
  const spec = specOf(service);
  const ports = portsOf(spec);
  yield* topologyErrors(objectAt(objectAt(service, "metadata"), "annotations"));
  if (ports.length === 0 && !isHeadless(spec) && needsClusterIp(spec)) yield required("spec.ports");
  yield* typeSpecificErrors(spec);
  yield* portErrors(ports);
  yield* labelsErrors(objectAt(spec, "selector"), "spec.selector");
  yield* affinityErrors(spec);
  yield* externalIpErrors(spec, existing, context);
  yield* enumErrors(stringAt(spec, "type"), "spec.type", TYPES);
  yield* nodePortErrors(spec);
  yield* repeatedPortErrors(ports);
  yield* sourceRangeErrors(service, existing, context);
  if (spec["type"] !== "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] !== undefined)
    yield forbiddenField("spec.allocateLoadBalancerNodePorts", BALANCER_ONLY);
  yield* loadBalancerClassErrors(spec);
  yield* trafficErrors(spec, context);
}

const TOPOLOGY_MODE = "service.kubernetes.io/topology-mode";
const TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints";

function* topologyErrors(annotations: JsonObject): Generator<FieldError> {
  const { [TOPOLOGY_MODE]: mode, [TOPOLOGY_HINTS]: hints } = annotations;
  if (mode === undefined || hints === undefined || mode === hints) return;
  const why = `must match annotations[${TOPOLOGY_HINTS}] when both are specified`;
  yield invalidValue(`metadata.annotations[${TOPOLOGY_MODE}]`, mode, why);
}

function* typeSpecificErrors(spec: JsonObject): Generator<FieldError> {
  if (needsNodePorts(spec) && isHeadless(spec))
    yield invalidValue(
      "spec.clusterIPs[0]",
      HEADLESS,
      `may not be set to 'None' for ${stringAt(spec, "type")} services`,
    );
  if (needsClusterIp(spec)) return;
  for (const field of ["clusterIPs", "ipFamilies"]) if (stringsAt(spec, field).length > 0) yield notForNames(field);
  if (spec["ipFamilyPolicy"] !== undefined) yield notForNames("ipFamilyPolicy");
  // A trailing dot marks a fully qualified name.
  const name = stringAt(spec, "externalName").replace(/\.$/, "");
  if (name === "") yield required("spec.externalName");
  else yield* nameErrors(name, "spec.externalName", dnsSubdomainErrors);
}

function notForNames(field: string): FieldError {
  return forbiddenField(`spec.${field}`, "may not be set for ExternalName services");
}

const AFFINITIES: readonly string[] = ["ClientIP", "None"];
/** One day. */
const AFFINITY_SECONDS_MAX = 86_400;

function* affinityErrors(spec: JsonObject): Generator<FieldError> {
  const affinity = stringAt(spec, "sessionAffinity");
  yield* enumErrors(affinity, "spec.sessionAffinity", AFFINITIES);
  const field = "spec.sessionAffinityConfig";
  const config = spec["sessionAffinityConfig"];
  if (affinity === "None" && config !== undefined)
    yield forbiddenField(field, "must not be set when session affinity is None");
  if (affinity !== "ClientIP" || !isJsonObject(config)) return;
  const seconds = Number(objectAt(config, "clientIP")["timeoutSeconds"] ?? 0);
  if (seconds <= 0 || seconds > AFFINITY_SECONDS_MAX) {
    const why = `must be greater than 0 and less than ${AFFINITY_SECONDS_MAX}`;
    yield invalidValue(`${field}.clientIP.timeoutSeconds`, seconds, why);
  }
}
