/** Validation of clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy against each other, with Kubernetes' messages. */
import {
  duplicateValue,
  firstErrors,
  invalidValue,
  required,
  unsupportedValue,
} from "../../../../meta/field-errors.ts";
import { parseLooseAddress } from "../../../../meta/ip-address.ts";
import { stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";
import { legacyIpErrors } from "../../network/ip-checks.ts";
import { invalidStrings } from "./go-strings.ts";
import { HEADLESS, isHeadless, needsClusterIp } from "./service-fields.ts";

const FAMILIES: readonly string[] = ["IPv4", "IPv6"];
const POLICIES: readonly string[] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const FIELD = "spec.clusterIPs";

/** `before`: the stored spec, if there is one. */
export function* clusterIpErrors(
  spec: JsonObject,
  before: JsonObject | undefined,
  context: KindContext,
): Generator<FieldError> {
  if (!needsClusterIp(spec)) return;
  const listed = stringsAt(spec, "clusterIPs");
  yield* firstIpErrors(spec, listed, context);
  yield* familyErrors(spec);
  const malformed = firstErrors(malformedIpErrors(listed, new Set(stringsAt(before ?? {}, "clusterIPs")), context));
  yield* malformed;
  if (listed.length > 2) yield invalidStrings(FIELD, listed, "may only hold up to 2 values", context);
  if (malformed.length > 0) return;
  if (listed.length > 1 && !isDualStack(listed))
    yield invalidStrings(FIELD, listed, "may specify no more than one IP for each IP family", context);
  if (!isHeadless(spec)) yield* mismatchErrors(listed, stringsAt(spec, "ipFamilies"));
}

/** clusterIP must be the first of clusterIPs. */
function* firstIpErrors(spec: JsonObject, listed: readonly string[], context: KindContext): Generator<FieldError> {
  const clusterIp = stringAt(spec, "clusterIP");
  if (clusterIp === "") {
    if (listed.length > 0)
      yield invalidStrings(FIELD, listed, "must be empty when `clusterIP` is not specified", context);
  } else if (listed.length === 0) yield required(FIELD);
  else if (listed[0] !== clusterIp) yield invalidStrings(FIELD, listed, "first value must match `clusterIP`", context);
}

function* familyErrors(spec: JsonObject): Generator<FieldError> {
  const seen = new Set<string>();
  for (const [index, family] of stringsAt(spec, "ipFamilies").entries()) {
    const field = `spec.ipFamilies[${index}]`;
    if (!FAMILIES.includes(family)) yield unsupportedValue(field, family, FAMILIES);
    if (seen.has(family)) yield duplicateValue(field, family);
    seen.add(family);
  }
  const policy = spec["ipFamilyPolicy"];
  if (typeof policy === "string" && !POLICIES.includes(policy))
    yield unsupportedValue("spec.ipFamilyPolicy", policy, POLICIES);
}

function* malformedIpErrors(
  listed: readonly string[],
  existing: ReadonlySet<string>,
  context: KindContext,
): Generator<FieldError> {
  for (const [index, ip] of listed.entries()) {
    if (index > 0 || ip !== HEADLESS) yield* legacyIpErrors(ip, { field: `${FIELD}[${index}]`, existing }, context);
    else if (listed.length > 1) yield invalidStrings(FIELD, listed, "'None' must be the first and only value", context);
  }
}

function isDualStack(ips: readonly string[]): boolean {
  return new Set(ips.map((ip) => parseLooseAddress(ip)?.address.family)).size > 1;
}

function* mismatchErrors(listed: readonly string[], families: readonly string[]): Generator<FieldError> {
  for (const [index, ip] of listed.slice(0, families.length).entries()) {
    const expected = families[index];
    const isSix = parseLooseAddress(ip)?.address.family === "IPv6";
    if ((expected === "IPv4" && isSix) || (expected === "IPv6" && !isSix)) {
      const why = `expected an ${expected} value as indicated by \`ipFamilies[${index}]\``;
      yield invalidValue(`${FIELD}[${index}]`, ip, why);
    }
  }
}
