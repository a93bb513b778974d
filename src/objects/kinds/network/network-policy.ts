/** Defaults, validation and warnings of NetworkPolicies. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { parseLooseCidr } from "../../../meta/ip-address.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelSelectorErrors, nameErrors, portNumberErrors } from "../checks.ts";
import { portNameErrors } from "../core/name-checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { cidrWarnings, legacyCidrErrors } from "./ip-checks.ts";

/** The two directions, and for each the field that lists its peers. */
const DIRECTIONS = [
  ["ingress", "from"],
  ["egress", "to"],
] as const;

export const NETWORK_POLICY: Kind = {
  setDefaults(policy) {
    const spec: JsonObject = { ...objectAt(policy, "spec") };
    spec["podSelector"] = objectAt(spec, "podSelector");
    for (const [direction] of DIRECTIONS)
      if (Array.isArray(spec[direction])) spec[direction] = objectsAt(spec, direction).map(ruleWithDefaults);
    if (stringsAt(spec, "policyTypes").length === 0)
      spec["policyTypes"] = objectsAt(spec, "egress").length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
    policy["spec"] = spec;
  },
  createErrors: (policy, context) => specErrors(objectAt(policy, "spec"), new Set(), context),
  updateErrors: (policy, existing, context) => specErrors(objectAt(policy, "spec"), cidrsOf(existing), context),
  warnings: policyWarnings,
};

function ruleWithDefaults(given: JsonObject): JsonObject {
  if (!Array.isArray(given["ports"])) return given;
  return {
    ...given,
    ports: objectsAt(given, "ports").map((port) => ({ ...port, protocol: port["protocol"] ?? "TCP" })),
  };
}

interface Peer {
  readonly peer: JsonObject;
  readonly field: string;
}

function* peersOf(policy: JsonObject): Generator<Peer> {
  const spec = objectAt(policy, "spec");
  for (const [direction, side] of DIRECTIONS)
    for (const [index, rule] of objectsAt(spec, direction).entries())
      for (const [at, peer] of objectsAt(rule, side).entries())
        yield { peer, field: `spec.${direction}[${index}].${side}[${at}]` };
}

function cidrsOf(policy: JsonObject): ReadonlySet<string> {
  const cidrs = new Set<string>();
  for (const { peer } of peersOf(policy)) {
    if (!isJsonObject(peer["ipBlock"])) continue;
    const block = objectAt(peer, "ipBlock");
    cidrs.add(stringAt(block, "cidr"));
    for (const except of stringsAt(block, "except")) cidrs.add(except);
  }
  return cidrs;
}

const PROTOCOLS: readonly string[] = ["TCP", "UDP", "SCTP"];
const POLICY_TYPES: readonly string[] = ["Ingress", "Egress"];

/** `existing`: CIDRs that the stored policy has, which remain valid. */
function* specErrors(spec: JsonObject, existing: ReadonlySet<string>, context: KindContext): Generator<FieldError> {
  yield* labelSelectorErrors(objectAt(spec, "podSelector"), "spec.podSelector");
  for (const [direction, side] of DIRECTIONS)
    for (const [index, rule] of objectsAt(spec, direction).entries()) {
      const field = `spec.${direction}[${index}]`;
      for (const [at, port] of objectsAt(rule, "ports").entries()) yield* portErrors(port, `${field}.ports[${at}]`);
      for (const [at, peer] of objectsAt(rule, side).entries())
        yield* peerErrors(peer, { field: `${field}.${side}[${at}]`, existing }, context);
    }
  const types = stringsAt(spec, "policyTypes");
  if (types.length > POLICY_TYPES.length) {
    yield invalidValue("spec.policyTypes", types, "may not specify more than two policyTypes");
    return;
  }
  for (const [index, type] of types.entries())
    if (!POLICY_TYPES.includes(type)) yield unsupportedValue(`spec.policyTypes[${index}]`, type, POLICY_TYPES);
}

function* portErrors({ protocol, port, endPort }: JsonObject, field: string): Generator<FieldError> {
  if (typeof protocol === "string" && !PROTOCOLS.includes(protocol))
    yield unsupportedValue(`${field}.protocol`, protocol, PROTOCOLS);
  const end = typeof endPort === "number" ? endPort : undefined;
  if (typeof port === "number") {
    yield* portNumberErrors(port, `${field}.port`);
    if (end === undefined) return;
    // As kubernetes: the error shows the start of the range.
    if (end < port) yield invalidValue(`${field}.endPort`, port, "must be greater than or equal to `port`");
    yield* portNumberErrors(end, `${field}.endPort`);
  } else if (typeof port === "string") {
    if (end !== undefined)
      yield invalidValue(`${field}.endPort`, end, "may not be specified when `port` is non-numeric");
    yield* nameErrors(port, `${field}.port`, portNameErrors);
  } else if (end !== undefined)
    yield invalidValue(`${field}.endPort`, end, "may not be specified when `port` is not specified");
}

interface PeerPlace {
  readonly field: string;
  readonly existing: ReadonlySet<string>;
}

function* peerErrors(peer: JsonObject, { field, existing }: PeerPlace, context: KindContext): Generator<FieldError> {
  const selectors = ["podSelector", "namespaceSelector"].filter((key) => isJsonObject(peer[key]));
  for (const key of selectors) yield* labelSelectorErrors(objectAt(peer, key), `${field}.${key}`);
  const hasBlock = isJsonObject(peer["ipBlock"]);
  if (hasBlock) yield* blockErrors(objectAt(peer, "ipBlock"), { field: `${field}.ipBlock`, existing }, context);
  if (!hasBlock && selectors.length === 0) yield required(field, "must specify a peer");
  else if (hasBlock && selectors.length > 0)
    yield forbiddenField(field, "may not specify both ipBlock and another peer");
}

function* blockErrors(block: JsonObject, { field, existing }: PeerPlace, context: KindContext): Generator<FieldError> {
  const cidr = stringAt(block, "cidr");
  if (cidr === "") {
    yield required(`${field}.cidr`);
    return;
  }
  yield* legacyCidrErrors(cidr, { field: `${field}.cidr`, existing }, context);
  const whole = parseLooseCidr(cidr);
  if (whole === undefined) return;
  for (const [index, except] of stringsAt(block, "except").entries()) {
    const at = `${field}.except[${index}]`;
    yield* legacyCidrErrors(except, { field: at, existing }, context);
    const part = parseLooseCidr(except);
    if (part !== undefined && !isStrictPart(part, whole))
      yield invalidValue(at, except, "must be a strict subset of `cidr`");
  }
}

type Network = NonNullable<ReturnType<typeof parseLooseCidr>>;

function isStrictPart(part: Network, whole: Network): boolean {
  if (part.family !== whole.family || part.prefixLength <= whole.prefixLength) return false;
  const rest = BigInt((whole.family === "IPv4" ? 32 : 128) - whole.prefixLength);
  return part.network >> rest === whole.network >> rest;
}

function* policyWarnings(policy: JsonObject): Generator<string> {
  for (const { peer, field } of peersOf(policy)) {
    const block = objectAt(peer, "ipBlock");
    yield* cidrWarnings(stringAt(block, "cidr"), `${field}.ipBlock.cidr`);
    for (const [index, except] of stringsAt(block, "except").entries())
      yield* cidrWarnings(except, `${field}.ipBlock.except[${index}]`);
  }
}
