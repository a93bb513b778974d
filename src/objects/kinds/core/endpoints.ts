/** Defaults, validation and warnings of Endpoints, the predecessor of EndpointSlices. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { enumErrors, nameErrors, countAt, portNumberErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { endpointIpErrors, ipWarnings, legacyIpErrors } from "../network/ip-checks.ts";
import { PROTOCOLS } from "./services/service-fields.ts";

export const ENDPOINTS: Kind = {
  setDefaults(endpoints) {
    if (Array.isArray(endpoints["subsets"]))
      endpoints["subsets"] = objectsAt(endpoints, "subsets").map(subsetWithDefaults);
  },
  createErrors: subsetErrors,
  // Does not validate unchanged subsets, because an older release may have accepted them.
  updateErrors: (endpoints, existing, context) =>
    jsonEquals(endpoints["subsets"], existing["subsets"]) ? [] : subsetErrors(endpoints, context),
  warnings: endpointsWarnings,
};

function subsetWithDefaults(given: JsonObject): JsonObject {
  if (!Array.isArray(given["ports"])) return given;
  const ports = objectsAt(given, "ports").map((port) => ({
    ...port,
    protocol: stringAt(port, "protocol") || "TCP",
  }));
  return { ...given, ports };
}

const ADDRESS_LISTS = ["addresses", "notReadyAddresses"] as const;

function* subsetErrors(endpoints: JsonObject, context: KindContext): Generator<FieldError> {
  for (const [index, subset] of objectsAt(endpoints, "subsets").entries()) {
    const field = `subsets[${index}]`;
    if (ADDRESS_LISTS.every((key) => objectsAt(subset, key).length === 0))
      yield required(field, "must specify `addresses` or `notReadyAddresses`");
    for (const key of ADDRESS_LISTS)
      for (const [at, address] of objectsAt(subset, key).entries())
        yield* addressErrors(address, `${field}.${key}[${at}]`, context);
    const ports = objectsAt(subset, "ports");
    for (const [at, port] of ports.entries()) yield* portErrors(port, `${field}.ports[${at}]`, ports.length > 1);
  }
}

function* addressErrors(address: JsonObject, field: string, context: KindContext): Generator<FieldError> {
  const ip = stringAt(address, "ip");
  yield* legacyIpErrors(ip, { field: `${field}.ip` }, context);
  if (stringAt(address, "hostname") !== "")
    yield* nameErrors(stringAt(address, "hostname"), `${field}.hostname`, dnsLabelErrors);
  if (address["nodeName"] !== undefined)
    yield* nameErrors(stringAt(address, "nodeName"), `${field}.nodeName`, dnsSubdomainErrors);
  yield* endpointIpErrors(ip, `${field}.ip`);
}

function* portErrors(port: JsonObject, field: string, isOneOfMany: boolean): Generator<FieldError> {
  const name = stringAt(port, "name");
  if (name !== "") yield* nameErrors(name, `${field}.name`, dnsLabelErrors);
  else if (isOneOfMany) yield required(`${field}.name`);
  yield* portNumberErrors(countAt(port, "port") ?? 0, `${field}.port`);
  yield* enumErrors(stringAt(port, "protocol"), `${field}.protocol`, PROTOCOLS);
  if (port["appProtocol"] !== undefined)
    for (const sentence of qualifiedNameErrors(stringAt(port, "appProtocol")))
      yield invalidValue(`${field}.appProtocol`, stringAt(port, "appProtocol"), sentence);
}

/** Skips objects that Kubernetes' own controller manages, because it writes no non-standard addresses. */
function* endpointsWarnings(endpoints: JsonObject): Generator<string> {
  const manager = objectAt(objectAt(endpoints, "metadata"), "labels")["endpoints.kubernetes.io/managed-by"];
  if (manager === "endpoint-controller") return;
  for (const [index, subset] of objectsAt(endpoints, "subsets").entries())
    for (const key of ADDRESS_LISTS)
      for (const [at, address] of objectsAt(subset, key).entries())
        yield* ipWarnings(stringAt(address, "ip"), `subsets[${index}].${key}[${at}].ip`);
}
