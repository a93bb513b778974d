/** Validation of the load balancer status of a Service or an Ingress, with Kubernetes' messages. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";
import { isIp, legacyIpErrors } from "../../network/ip-checks.ts";

const FIELD = "status.loadBalancer.ingress";
const IP_MODES: readonly string[] = ["Proxy", "VIP"];

export function ingressPoints(object: JsonObject): JsonObject[] {
  return objectsAt(objectAt(objectAt(object, "status"), "loadBalancer"), "ingress");
}

export function* serviceStatusErrors(
  service: JsonObject,
  existing: JsonObject,
  context: KindContext,
): Generator<FieldError> {
  const points = ingressPoints(service);
  if (objectAt(service, "spec")["type"] !== "LoadBalancer" && points.length > 0) {
    yield forbiddenField(FIELD, "may only be used when `spec.type` is 'LoadBalancer'");
    return;
  }
  const known = knownIps(existing);
  for (const [index, point] of points.entries()) {
    yield* ipErrors(point, { field: `${FIELD}[${index}]`, known }, context);
    yield* ipModeErrors(point, `${FIELD}[${index}]`);
    yield* hostnameErrors(point, `${FIELD}[${index}]`);
  }
}

export function* ingressStatusErrors(
  ingress: JsonObject,
  existing: JsonObject,
  context: KindContext,
): Generator<FieldError> {
  const known = knownIps(existing);
  for (const [index, point] of ingressPoints(ingress).entries()) {
    yield* ipErrors(point, { field: `${FIELD}[${index}]`, known }, context);
    yield* hostnameErrors(point, `${FIELD}[${index}]`);
  }
}

function knownIps(object: JsonObject): ReadonlySet<string> {
  return new Set(ingressPoints(object).map((point) => stringAt(point, "ip")));
}

function* ipErrors(
  point: JsonObject,
  { field, known }: { field: string; known: ReadonlySet<string> },
  context: KindContext,
): Generator<FieldError> {
  const ip = stringAt(point, "ip");
  if (ip !== "") yield* legacyIpErrors(ip, { field: `${field}.ip`, existing: known }, context);
}

function* ipModeErrors(point: JsonObject, field: string): Generator<FieldError> {
  const hasIp = stringAt(point, "ip") !== "";
  const mode = point["ipMode"];
  if (typeof mode !== "string") {
    if (hasIp) yield required(`${field}.ipMode`, "must be specified when `ip` is set");
  } else if (!hasIp) yield forbiddenField(`${field}.ipMode`, "may not be specified when `ip` is not set");
  else if (!IP_MODES.includes(mode)) yield unsupportedValue(`${field}.ipMode`, mode, IP_MODES);
}

function* hostnameErrors(point: JsonObject, field: string): Generator<FieldError> {
  const hostname = stringAt(point, "hostname");
  if (hostname === "") return;
  for (const sentence of dnsSubdomainErrors(hostname)) yield invalidValue(`${field}.hostname`, hostname, sentence);
  if (isIp(hostname)) yield invalidValue(`${field}.hostname`, hostname, "must be a DNS name, not an IP address");
}
