/**
 * Decides the IP families of a Service: which ones it gets, and which cluster IPs an update keeps. Validation reports the
 * errors, and the allocation then allocates one cluster IP for each family.
 */
import { invalidValue } from "../../../../meta/field-errors.ts";
import { parseLooseAddress, type IpFamily } from "../../../../meta/ip-address.ts";
import { jsonEquals, objectAt, specOf, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";
import { invalidStrings } from "./go-strings.ts";
import { HEADLESS, isHeadless, needsClusterIp } from "./service-fields.ts";

interface FamilyPlan {
  /** The spec with its final ipFamilyPolicy and ipFamilies, and without the cluster IP that an update releases. */
  readonly spec: JsonObject;
  /** Whether the update neither adds nor releases a cluster IP, because the cluster IPs are to stay as they are. */
  readonly isSettled: boolean;
  readonly errors: readonly FieldError[];
}

type FamilyContext = Pick<KindContext, "gates" | "ipFamilies">;

/** `before`: the stored spec, if there is one. The cluster IPs of `spec` are valid addresses. */
export function planIpFamilies(spec: JsonObject, before: JsonObject | undefined, context: FamilyContext): FamilyPlan {
  const stored = before === undefined ? undefined : withFamilies(before, context);
  if (!needsClusterIp(spec) || keepsPreference(spec, stored)) return { spec, isSettled: true, errors: [] };
  const policy = policyOf(spec, stored);
  const kept = keptFields(spec, stored, policy);
  const families = inferredFamilies(kept, context);
  const errors = [...releaseErrors(kept, stored), ...singleStackErrors(kept), ...families.errors];
  const plan = { spec: kept, isSettled: false };
  if (errors.length > 0) return { ...plan, errors };
  if (isOpen(spec))
    return { ...plan, spec: { ...kept, ipFamilies: openFamilies(families.listed, policy, context) }, errors };
  const unavailable = unavailableErrors(families.listed, policy, context);
  if (unavailable.length > 0) return { ...plan, errors: unavailable };
  return { ...plan, spec: { ...kept, ipFamilies: withSecond(families.listed, policy, context) }, errors };
}

/** Early releases stored Services without IP families, and Services of type ExternalName with a traffic policy. */
export function completeStoredService(service: JsonObject, context: FamilyContext): void {
  const { internalTrafficPolicy: _policy, ...withoutPolicy } = specOf(service);
  if (!needsClusterIp(withoutPolicy)) service["spec"] = withoutPolicy;
  else if (stringAt(withoutPolicy, "clusterIP") !== "") service["spec"] = withFamilies(specOf(service), context);
}

/** The stored spec as it is read: a Service of an early release has no ipFamilies and no ipFamilyPolicy. */
function withFamilies(before: JsonObject, { ipFamilies: [primary = "IPv4"] }: FamilyContext): JsonObject {
  if (!needsClusterIp(before) || stringsAt(before, "ipFamilies").length > 0) return before;
  const clusterIp = stringAt(before, "clusterIP");
  const listed = stringsAt(before, "clusterIPs");
  const clusterIPs = listed.length > 0 || clusterIp === "" ? listed : [clusterIp];
  const headless = isOpen(before) ? [primary, otherFamily(primary)] : [primary];
  const ipFamilies = isHeadless(before) ? headless : clusterIPs.map(familyOfIp);
  const ipFamilyPolicy = ipFamilies.length > 1 ? "RequireDualStack" : "SingleStack";
  return { ...before, clusterIPs, ipFamilies, ipFamilyPolicy };
}

/**
 * As kubernetes: if the cluster becomes dual-stack or single-stack, a Service that prefers both families keeps the cluster
 * IPs that it has, until a client changes one of these fields.
 */
function keepsPreference(spec: JsonObject, before: JsonObject | undefined): boolean {
  return (
    before !== undefined &&
    stringAt(spec, "ipFamilyPolicy") === "PreferDualStack" &&
    stringAt(before, "ipFamilyPolicy") === "PreferDualStack" &&
    stringAt(spec, "type") === stringAt(before, "type") &&
    isSameList(spec, before, "clusterIPs") &&
    isSameList(spec, before, "ipFamilies")
  );
}

function policyOf(spec: JsonObject, before: JsonObject | undefined): string {
  const given = stringAt(spec, "ipFamilyPolicy") || stringAt(before ?? {}, "ipFamilyPolicy");
  return given || (isOpen(spec) ? "RequireDualStack" : "SingleStack");
}

/** A headless Service without a selector needs no addresses of this cluster, so it can have both families. */
function isOpen(spec: JsonObject): boolean {
  return isHeadless(spec) && Object.keys(objectAt(spec, "selector")).length === 0;
}

/** An update to SingleStack that leaves the lists unchanged releases their second values. */
function keptFields(spec: JsonObject, before: JsonObject | undefined, policy: string): JsonObject {
  const kept: JsonObject = { ...spec, ipFamilyPolicy: policy };
  if (before === undefined || policy !== "SingleStack") return kept;
  for (const field of ["clusterIPs", "ipFamilies"]) {
    const listed = stringsAt(spec, field);
    if (listed.length > 1 && isSameList(spec, before, field)) kept[field] = listed.slice(0, 1);
  }
  return kept;
}

function releaseErrors(spec: JsonObject, before: JsonObject | undefined): FieldError[] {
  const policy = stringAt(spec, "ipFamilyPolicy");
  if (before === undefined || policy === "SingleStack") return [];
  const isReduced = (field: string): boolean => {
    const { length } = stringsAt(spec, field);
    return length > 0 && length < stringsAt(before, field).length;
  };
  const why = (what: string): string => `must be 'SingleStack' to release the secondary ${what}`;
  return [
    ...(isReduced("clusterIPs") ? [invalidValue("spec.ipFamilyPolicy", policy, why("cluster IP"))] : []),
    ...(isReduced("ipFamilies") ? [invalidValue("spec.ipFamilyPolicy", policy, why("IP family"))] : []),
  ];
}

function singleStackErrors(spec: JsonObject): FieldError[] {
  const policy = stringAt(spec, "ipFamilyPolicy");
  if (policy !== "SingleStack") return [];
  const why = (what: string): string =>
    `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;
  const has = (field: string): boolean => stringsAt(spec, field).length === 2;
  return [
    ...(has("clusterIPs") ? [invalidValue("spec.ipFamilyPolicy", policy, why("cluster IPs"))] : []),
    ...(has("ipFamilies") ? [invalidValue("spec.ipFamilyPolicy", policy, why("IP families"))] : []),
  ];
}

/** The given families, followed by those of the cluster IPs for which no family is given. */
function inferredFamilies(
  spec: JsonObject,
  { gates, ipFamilies }: FamilyContext,
): { readonly listed: readonly string[]; readonly errors: readonly FieldError[] } {
  const listed: string[] = stringsAt(spec, "ipFamilies");
  const errors: FieldError[] = [];
  const ips = stringsAt(spec, "clusterIPs");
  for (const [index, ip] of ips.entries()) {
    if (ip === HEADLESS || index < listed.length) continue;
    const family = familyOfIp(ip);
    const why = `${family} is not configured on this cluster`;
    if (ipFamilies.includes(family)) listed.push(family);
    else errors.push(invalidStrings(`spec.clusterIPs[${index}]`, ips, why, { gates }));
  }
  return { listed, errors };
}

function openFamilies(given: readonly string[], policy: string, { ipFamilies }: FamilyContext): readonly string[] {
  const [first = ipFamilies[0] ?? "IPv4"] = given;
  return given.length < 2 && policy !== "SingleStack" ? [first, otherFamily(first)] : [first, ...given.slice(1)];
}

function unavailableErrors(given: readonly string[], policy: string, { ipFamilies }: FamilyContext): FieldError[] {
  const isImpossible = policy === "RequireDualStack" && ipFamilies.length < 2;
  const why = "this cluster is not configured for dual-stack services";
  return [
    ...(isImpossible ? [invalidValue("spec.ipFamilyPolicy", policy, why)] : []),
    ...given.flatMap((family, index) =>
      ipFamilies.some((one) => one === family)
        ? []
        : [invalidValue(`spec.ipFamilies[${index}]`, family, "not configured on this cluster")],
    ),
  ];
}

function withSecond(given: readonly string[], policy: string, { ipFamilies }: FamilyContext): readonly string[] {
  const [first = ipFamilies[0] ?? "IPv4"] = given;
  if (given.length > 1) return given;
  return policy !== "SingleStack" && ipFamilies.length > 1 ? [first, otherFamily(first)] : [first];
}

function familyOfIp(ip: string): IpFamily {
  return parseLooseAddress(ip)?.address.family ?? "IPv4";
}

function otherFamily(family: string): IpFamily {
  return family === "IPv4" ? "IPv6" : "IPv4";
}

function isSameList(spec: JsonObject, before: JsonObject, field: string): boolean {
  return jsonEquals(stringsAt(spec, field), stringsAt(before, field));
}
