/** Sets the IP families of a service. The cluster itself has only one family. */
import { stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { invalidValue } from "../../meta/field-errors.ts";
import { familyOf, type IpFamily } from "../../meta/ip-address.ts";
import { invalidStrings } from "../../objects/kinds/core/services/go-strings.ts";
import { HEADLESS, isHeadless } from "../../objects/kinds/core/services/service-fields.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";

/** Sets ipFamilyPolicy and ipFamilies of a service that is not ExternalName; returns the validation errors. */
export function fillIpFamilies(
  spec: JsonObject,
  before: JsonObject | undefined,
  { family, gates }: { readonly family: IpFamily; readonly gates: ReleaseGates },
): FieldError[] {
  const listed = stringsAt(spec, "clusterIPs");
  const families = stringsAt(spec, "ipFamilies");
  // A headless service without a selector needs no addresses of this cluster, so it can have both families.
  const isOpen = isHeadless(spec) && Object.keys((spec["selector"] as JsonObject | undefined) ?? {}).length === 0;
  const policy =
    stringAt(spec, "ipFamilyPolicy") ||
    stringAt(before ?? {}, "ipFamilyPolicy") ||
    (isOpen ? "RequireDualStack" : "SingleStack");
  spec["ipFamilyPolicy"] = policy;
  const errors = singleStackErrors(policy, listed, families);
  listed.forEach((ip, index) => {
    const own = ip === HEADLESS ? undefined : familyOf(ip);
    if (own === undefined || index < families.length) return;
    if (own === family) families.push(own);
    else
      errors.push(
        invalidStrings(`spec.clusterIPs[${index}]`, listed, `${own} is not configured on this cluster`, { gates }),
      );
  });
  if (isOpen) {
    if (families.length === 0) families.push(family);
    if (families.length < 2 && policy !== "SingleStack") families.push(families[0] === "IPv4" ? "IPv6" : "IPv4");
  } else {
    if (policy === "RequireDualStack")
      errors.push(
        invalidValue("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services"),
      );
    families.forEach((own, index) => {
      if (own !== family) errors.push(invalidValue(`spec.ipFamilies[${index}]`, own, "not configured on this cluster"));
    });
    if (families.length === 0) families.push(family);
  }
  spec["ipFamilies"] = families;
  return errors;
}

function singleStackErrors(policy: string, listed: readonly string[], families: readonly string[]): FieldError[] {
  if (policy !== "SingleStack") return [];
  const why = (what: string): string =>
    `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;
  return [
    ...(listed.length === 2 ? [invalidValue("spec.ipFamilyPolicy", policy, why("cluster IPs"))] : []),
    ...(families.length === 2 ? [invalidValue("spec.ipFamilyPolicy", policy, why("IP families"))] : []),
  ];
}
