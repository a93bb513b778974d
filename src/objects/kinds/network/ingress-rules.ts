/** Validation of the hosts, paths and backends of Ingresses, with Kubernetes' messages. */
import { invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dns1035LabelErrors, dnsLabelErrors, dnsSubdomainErrors, type NameRule } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors, portNumberErrors } from "../checks.ts";
import { portNameErrors, wildcardSubdomainErrors } from "../core/name-checks.ts";
import { isIp } from "./ip-checks.ts";
import { segmentErrors } from "./references.ts";
import type { ReleaseGates } from "../../release-gates.ts";

export interface IngressLeniency {
  readonly serviceNames: NameRule;
  readonly secretNames: "checked" | "unchecked";
  /** Whether to check rules whose host has a wildcard. */
  readonly wildcardRules: "checked" | "unchecked";
}

export function serviceNameRule(before: JsonObject | undefined, gates: ReleaseGates): NameRule {
  return gates.isOn("RelaxedServiceNameValidation") || usesRelaxedNames(before ?? {})
    ? dnsLabelErrors
    : dns1035LabelErrors;
}

function usesRelaxedNames(spec: JsonObject): boolean {
  const backends = [
    spec["defaultBackend"],
    ...objectsAt(spec, "rules").flatMap((rule) =>
      objectsAt(objectAt(rule, "http"), "paths").map((path) => path["backend"]),
    ),
  ];
  return backends.some((backend) => {
    if (!isJsonObject(backend) || !isJsonObject(backend["service"])) return false;
    const name = stringAt(backend["service"], "name");
    return dnsLabelErrors(name).length === 0 && dns1035LabelErrors(name).length > 0;
  });
}

/** The host of a rule must be a DNS name; a TLS host may also be an IPv4 address, which has the form of a DNS name. */
export function* hostErrors(
  host: string,
  field: string,
  kind: "name" | "address or name" = "name",
): Generator<FieldError> {
  if (kind === "name") {
    if (host === "") return;
    if (isIp(host)) yield invalidValue(field, host, "must be a DNS name, not an IP address");
  }
  yield* nameErrors(host, field, host.includes("*") ? wildcardSubdomainErrors : dnsSubdomainErrors);
}

export function* ingressRuleErrors(rule: JsonObject, field: string, leniency: IngressLeniency): Generator<FieldError> {
  if (!isJsonObject(rule["http"])) return;
  const paths = objectsAt(rule["http"], "paths");
  if (paths.length === 0) yield required(`${field}.http.paths`);
  for (const [index, path] of paths.entries()) yield* pathErrors(path, `${field}.http.paths[${index}]`, leniency);
}

const PATH_TYPES: readonly string[] = ["Exact", "ImplementationSpecific", "Prefix"];
const BAD_SEQUENCES: readonly string[] = ["//", "/./", "/../", "%2f", "%2F"];
const BAD_ENDINGS: readonly string[] = ["/..", "/."];

function* pathErrors(path: JsonObject, field: string, leniency: IngressLeniency): Generator<FieldError> {
  const type = path["pathType"];
  if (typeof type !== "string") {
    yield required(`${field}.pathType`, "pathType must be specified");
    return;
  }
  const text = stringAt(path, "path");
  if (!PATH_TYPES.includes(type)) yield unsupportedValue(`${field}.pathType`, type, PATH_TYPES);
  else if (!text.startsWith("/") && (text !== "" || type !== "ImplementationSpecific"))
    yield invalidValue(`${field}.path`, text, "must be an absolute path");
  if (type === "Exact" || type === "Prefix") yield* pathTextErrors(text, `${field}.path`);
  yield* backendErrors(objectAt(path, "backend"), `${field}.backend`, leniency);
}

function* pathTextErrors(text: string, field: string): Generator<FieldError> {
  for (const sequence of BAD_SEQUENCES)
    if (text.includes(sequence)) yield invalidValue(field, text, `must not contain '${sequence}'`);
  for (const ending of BAD_ENDINGS)
    if (text.endsWith(ending)) yield invalidValue(field, text, `cannot end with '${ending}'`);
}

export function* backendErrors(backend: JsonObject, field: string, leniency: IngressLeniency): Generator<FieldError> {
  const { resource, service } = backend;
  if (isJsonObject(resource) && isJsonObject(service))
    yield invalidValue(field, "", "cannot set both resource and service backends");
  else if (isJsonObject(resource)) yield* resourceErrors(resource, `${field}.resource`);
  else if (isJsonObject(service)) yield* serviceErrors(service, field, leniency);
  else yield invalidValue(field, "", "resource or service backend is required");
}

function* resourceErrors(resource: JsonObject, field: string): Generator<FieldError> {
  if (typeof resource["apiGroup"] === "string")
    yield* nameErrors(stringAt(resource, "apiGroup"), `${field}.apiGroup`, dnsSubdomainErrors);
  yield* segmentErrors(resource, "kind", field);
  yield* segmentErrors(resource, "name", field);
}

function* serviceErrors(service: JsonObject, field: string, leniency: IngressLeniency): Generator<FieldError> {
  const name = stringAt(service, "name");
  if (name === "") yield required(`${field}.service.name`);
  else yield* nameErrors(name, `${field}.service.name`, leniency.serviceNames);
  const port = objectAt(service, "port");
  const portName = stringAt(port, "name");
  const number = numberAt(port, "number") ?? 0;
  if (portName !== "" && number !== 0) yield invalidValue(field, "", "cannot set both port name & port number");
  else if (portName !== "") yield* nameErrors(portName, `${field}.service.port.name`, portNameErrors);
  else if (number !== 0) yield* portNumberErrors(number, `${field}.service.port.number`);
  else yield required(field, "port name or number is required");
}
