/** Validation of IPAddresses and ServiceCIDRs. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { parseLooseCidr } from "../../../meta/ip-address.ts";
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors, pathSegmentErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { canonicalCidrErrors } from "./ip-checks.ts";
import { segmentErrors } from "./references.ts";
import { internalValue, isSameInternal } from "../internal-version/internal-value.ts";

const FIXED = "field is immutable";

export const IP_ADDRESS: Kind = {
  createErrors: parentErrors,
  *updateErrors(address, existing) {
    yield* parentErrors(address);
    const [parent, before] = [address, existing].map((one) => objectAt(one, "spec")["parentRef"]);
    if (!isSameInternal(parent, before, "*ParentReference"))
      yield invalidValue("spec.parentRef", internalValue(parent, "*ParentReference"), FIXED);
  },
};

function* parentErrors(address: JsonObject): Generator<FieldError> {
  const field = "spec.parentRef";
  const { parentRef } = objectAt(address, "spec");
  if (!isJsonObject(parentRef)) {
    yield required(field);
    return;
  }
  if (stringAt(parentRef, "group") !== "")
    yield* nameErrors(stringAt(parentRef, "group"), `${field}.group`, dnsSubdomainErrors);
  yield* segmentErrors(parentRef, "resource", field);
  yield* segmentErrors(parentRef, "name", field);
  if (stringAt(parentRef, "namespace") !== "")
    yield* nameErrors(stringAt(parentRef, "namespace"), `${field}.namespace`, pathSegmentErrors);
}

export const SERVICE_CIDR: Kind = {
  setDefaults(range) {
    range["spec"] = objectAt(range, "spec");
    range["status"] = objectAt(range, "status");
  },
  prepareCreate(range) {
    range["status"] = {};
  },
  createErrors: (range) => cidrsErrors(cidrsOf(range)),
  updateErrors: (range, existing) => changeErrors(cidrsOf(range), cidrsOf(existing)),
  keepsMetadataInStatus: true,
};

const FIELD = "spec.cidrs";

function cidrsOf(range: JsonObject): string[] {
  return stringsAt(objectAt(range, "spec"), "cidrs");
}

function* cidrsErrors(cidrs: readonly string[]): Generator<FieldError> {
  if (cidrs.length === 0) {
    yield required(FIELD, "at least one CIDR required");
    return;
  }
  if (cidrs.length > 2) {
    yield invalidValue(FIELD, { CIDRs: cidrs }, "may only hold up to 2 values");
    return;
  }
  for (const [index, cidr] of cidrs.entries()) yield* canonicalCidrErrors(cidr, `${FIELD}[${index}]`);
  const [first, second] = cidrs.map((cidr) => parseLooseCidr(cidr)?.family);
  if (cidrs.length === 2 && first !== undefined && first === second) {
    const why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
    yield invalidValue(FIELD, cidrs, why);
  }
}

/** A stored CIDR is immutable, but a CIDR of the other IP family may be added. */
function* changeErrors(cidrs: readonly string[], before: readonly string[]): Generator<FieldError> {
  if (cidrs.length === before.length) {
    for (const [index, cidr] of cidrs.entries())
      if (cidr !== before[index]) yield invalidValue(`${FIELD}[${index}]`, cidr, FIXED);
  } else if (before.length === 1 && cidrs.length === 2) {
    if (cidrs[0] !== before[0]) yield invalidValue(`${FIELD}[0]`, cidrs[0], FIXED);
    yield* cidrsErrors(cidrs);
  } else yield invalidValue(FIELD, cidrs.length === 0 ? null : cidrs, FIXED);
}
