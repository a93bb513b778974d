/**
 * Defaults, validation and warnings of EndpointSlices, which list the endpoints of a Service in slices of up to a
 * thousand.
 */
import { duplicateValue, invalidValue, required, tooMany, unsupportedValue } from "../../../meta/field-errors.ts";
import { familyOf } from "../../../meta/ip-address.ts";
import {
  isJsonObject,
  jsonEquals,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
  type JsonObject,
} from "../../../meta/json.ts";
import {
  dnsLabelErrors,
  dnsSubdomainErrors,
  labelValueErrors,
  qualifiedNameErrors,
  type NameRule,
} from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { enumErrors, immutableErrors, labelsErrors, nameErrors } from "../checks.ts";
import { fullDomainErrors } from "../core/name-checks.ts";
import { PROTOCOLS } from "../core/services/service-fields.ts";
import type { Kind, KindContext } from "../kind.ts";
import { canonicalIpSentences, endpointIpErrors, ipWarnings, legacyIpErrors } from "./ip-checks.ts";

export const ENDPOINT_SLICE: Kind = {
  setDefaults(slice) {
    slice["endpoints"] = Array.isArray(slice["endpoints"])
      ? objectsAt(slice, "endpoints").map((endpoint) => ({
          ...endpoint,
          conditions: objectAt(endpoint, "conditions"),
        }))
      : null;
    slice["ports"] = Array.isArray(slice["ports"]) ? objectsAt(slice, "ports").map(portWithDefaults) : null;
  },
  prepareCreate: (slice) => dropTopology(slice, undefined),
  prepareUpdate(slice, existing) {
    dropTopology(slice, existing);
    countChange(slice, existing);
  },
  createErrors: (slice, context) => sliceErrors(slice, undefined, context),
  *updateErrors(slice, existing, context) {
    yield* sliceErrors(slice, existing, context);
    yield* immutableErrors(stringAt(slice, "addressType"), stringAt(existing, "addressType"), "addressType");
  },
  *warnings(slice, existing) {
    if (existing === undefined && slice["addressType"] === "FQDN")
      yield "spec.addressType: FQDN endpoints are deprecated";
    yield* addressWarnings(slice);
  },
};

function portWithDefaults(port: JsonObject): JsonObject {
  return { ...port, name: port["name"] ?? "", protocol: port["protocol"] ?? "TCP" };
}

const HOSTNAME = "kubernetes.io/hostname";

/**
 * v1 drops deprecatedTopology, in which v1beta1 stored the node of an endpoint. If the stored slice already has the
 * node there, it becomes the nodeName.
 */
function dropTopology(slice: JsonObject, existing: JsonObject | undefined): void {
  if (!Array.isArray(slice["endpoints"])) return;
  if (existing !== undefined && jsonEquals(slice["endpoints"], existing["endpoints"])) return;
  const known = new Set(
    objectsAt(existing ?? {}, "endpoints").map((endpoint) =>
      stringAt(objectAt(endpoint, "deprecatedTopology"), HOSTNAME),
    ),
  );
  slice["endpoints"] = objectsAt(slice, "endpoints").map((endpoint) => {
    const { deprecatedTopology, ...rest } = endpoint;
    const node = isJsonObject(deprecatedTopology) ? stringAt(deprecatedTopology, HOSTNAME) : "";
    const isKept = rest["nodeName"] === undefined && node !== "" && known.has(node);
    return isKept && dnsSubdomainErrors(node).length === 0 ? { ...rest, nodeName: node } : rest;
  });
}

/** Increments the generation if endpoints, ports or labels change; labels link a slice to its Service. */
function countChange(slice: JsonObject, existing: JsonObject): void {
  const metadata = objectAt(slice, "metadata");
  const before = objectAt(existing, "metadata");
  const isSame =
    jsonEquals(objectAt(metadata, "labels"), objectAt(before, "labels")) &&
    ["addressType", "endpoints", "ports"].every((key) => jsonEquals(slice[key], existing[key]));
  if (!isSame) slice["metadata"] = { ...metadata, generation: Number(before["generation"] ?? 0) + 1 };
}

const ADDRESS_TYPES: readonly string[] = ["FQDN", "IPv4", "IPv6"];
const ADDRESSES_MAX = 100;
const PORTS_MAX = 20_000;
const ENDPOINTS_MAX = 1000;
const TOPOLOGY_LABELS_MAX = 16;
const HINTS_MAX = 8;

function* sliceErrors(
  slice: JsonObject,
  existing: JsonObject | undefined,
  context: KindContext,
): Generator<FieldError> {
  yield* enumErrors(stringAt(slice, "addressType"), "addressType", ADDRESS_TYPES);
  yield* portErrors(objectsAt(slice, "ports"));
  // Unchanged endpoints are not validated, because an older release may have accepted them.
  if (existing === undefined || !jsonEquals(slice["endpoints"], existing["endpoints"]))
    yield* endpointErrors(objectsAt(slice, "endpoints"), stringAt(slice, "addressType"), context);
}

function* portErrors(ports: readonly JsonObject[]): Generator<FieldError> {
  if (ports.length > PORTS_MAX) {
    yield tooMany("ports", ports.length, PORTS_MAX);
    return;
  }
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const field = `ports[${index}]`;
    const name = stringAt(port, "name");
    if (name !== "") yield* nameErrors(name, `${field}.name`, dnsLabelErrors);
    if (names.has(name)) yield duplicateValue(`${field}.name`, name);
    names.add(name);
    yield* supportedProtocolErrors(stringAt(port, "protocol"), `${field}.protocol`);
    if (port["appProtocol"] !== undefined)
      yield* nameErrors(stringAt(port, "appProtocol"), `${field}.appProtocol`, qualifiedNameErrors);
  }
}

/** Rejects an empty protocol; an absent protocol has been defaulted before. */
function* supportedProtocolErrors(protocol: string, field: string): Generator<FieldError> {
  if (!PROTOCOLS.includes(protocol)) yield unsupportedValue(field, protocol, PROTOCOLS);
}

function* endpointErrors(
  endpoints: readonly JsonObject[],
  addressType: string,
  context: KindContext,
): Generator<FieldError> {
  if (endpoints.length > ENDPOINTS_MAX) {
    yield tooMany("endpoints", endpoints.length, ENDPOINTS_MAX);
    return;
  }
  for (const [index, endpoint] of endpoints.entries()) {
    const field = `endpoints[${index}]`;
    yield* addressesErrors(stringsAt(endpoint, "addresses"), { field: `${field}.addresses`, addressType }, context);
    if (endpoint["nodeName"] !== undefined)
      yield* nameErrors(stringAt(endpoint, "nodeName"), `${field}.nodeName`, dnsSubdomainErrors);
    yield* topologyErrors(objectAt(endpoint, "deprecatedTopology"), `${field}.deprecatedTopology`);
    if (endpoint["hostname"] !== undefined)
      yield* nameErrors(stringAt(endpoint, "hostname"), `${field}.hostname`, dnsLabelErrors);
    yield* hintErrors(objectAt(endpoint, "hints"), `${field}.hints`);
  }
}

function* addressesErrors(
  addresses: readonly string[],
  { field, addressType }: { field: string; addressType: string },
  context: KindContext,
): Generator<FieldError> {
  if (addresses.length === 0) yield required(field, "must contain at least 1 address");
  else if (addresses.length > ADDRESSES_MAX) yield tooMany(field, addresses.length, ADDRESSES_MAX);
  for (const [index, address] of addresses.entries()) {
    const at = `${field}[${index}]`;
    if (addressType === "FQDN") yield* fullDomainErrors(address, at);
    else if (addressType === "IPv4" || addressType === "IPv6") {
      const errors =
        addressType === "IPv4"
          ? legacyIpErrors(address, { field: at }, context)
          : nameErrors(address, at, canonicalIpSentences);
      const malformed = [...errors];
      yield* malformed;
      if (malformed.length > 0) continue;
      // As kubernetes: the error names the whole list.
      if (familyOf(address) !== addressType) yield invalidValue(field, address, `must be an ${addressType} address`);
      yield* endpointIpErrors(address, at);
    }
  }
}

function* topologyErrors(topology: JsonObject, field: string): Generator<FieldError> {
  const count = Object.keys(topology).length;
  if (count > TOPOLOGY_LABELS_MAX) yield tooMany(field, count, TOPOLOGY_LABELS_MAX);
  yield* labelsErrors(topology, field);
}

function* hintErrors(hints: JsonObject, field: string): Generator<FieldError> {
  for (const [key, rule] of [
    ["forZones", labelValueErrors],
    ["forNodes", dnsSubdomainErrors],
  ] as const) {
    const named = objectsAt(hints, key);
    if (named.length > HINTS_MAX) {
      yield tooMany(`${field}.${key}`, named.length, HINTS_MAX);
      return;
    }
    yield* namedErrors(named, `${field}.${key}`, rule);
  }
}

function* namedErrors(named: readonly JsonObject[], field: string, rule: NameRule): Generator<FieldError> {
  const seen = new Set<string>();
  for (const [index, one] of named.entries()) {
    const name = stringAt(one, "name");
    if (seen.has(name)) yield duplicateValue(`${field}[${index}].name`, name);
    seen.add(name);
    yield* nameErrors(name, `${field}[${index}].name`, rule);
  }
}

const CONTROLLERS: readonly unknown[] = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

/** Skips slices that Kubernetes' own controllers manage, because they write no non-standard addresses. */
function* addressWarnings(slice: JsonObject): Generator<string> {
  const labels = objectAt(objectAt(slice, "metadata"), "labels");
  if (CONTROLLERS.includes(labels["endpointslice.kubernetes.io/managed-by"])) return;
  for (const [index, endpoint] of objectsAt(slice, "endpoints").entries())
    for (const [at, address] of stringsAt(endpoint, "addresses").entries())
      yield* ipWarnings(address, `endpoints[${index}].addresses[${at}]`);
}
