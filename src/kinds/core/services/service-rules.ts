/** The rules of Services that allocation relies on; the sentences are kubernetes'. */
import { stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { forbiddenField, invalidList, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { familyOf } from "../../../meta/ip-address.ts";
import { HEADLESS, isHeadless, needsClusterIp, needsNodePorts, portsOf, specOf } from "./service-fields.ts";

const TYPES: ReadonlySet<string> = new Set(["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
const FAMILIES: ReadonlySet<string> = new Set(["IPv4", "IPv6"]);
const POLICIES: ReadonlySet<string> = new Set(["PreferDualStack", "RequireDualStack", "SingleStack"]);

export function serviceErrors(service: JsonObject): FieldError[] {
  const spec = specOf(service);
  const hasPorts = portsOf(spec).length > 0 || isHeadless(spec) || !needsClusterIp(spec);
  return [
    ...(hasPorts ? [] : [required("spec.ports")]),
    ...typeErrors(spec),
    ...(needsClusterIp(spec) ? clusterIpErrors(spec) : externalNameErrors(spec)),
    ...portsOf(spec).flatMap((port, index) => portErrors(spec, port, `spec.ports[${index}]`)),
  ];
}

export function serviceUpdateErrors(service: JsonObject, existing: JsonObject): FieldError[] {
  return [...clusterIpUpdateErrors(specOf(service), specOf(existing)), ...serviceErrors(service)];
}

function typeErrors(spec: JsonObject): FieldError[] {
  const type = stringAt(spec, "type");
  if (!TYPES.has(type)) return [unsupportedValue("spec.type", type, TYPES)];
  if (!isHeadless(spec) || !needsNodePorts(spec)) return [];
  return [invalidValue("spec.clusterIPs[0]", HEADLESS, `may not be set to 'None' for ${type} services`)];
}

function externalNameErrors(spec: JsonObject): FieldError[] {
  const why = "may not be set for ExternalName services";
  return [
    ...(stringsAt(spec, "clusterIPs").length > 0 ? [forbiddenField("spec.clusterIPs", why)] : []),
    ...(stringsAt(spec, "ipFamilies").length > 0 ? [forbiddenField("spec.ipFamilies", why)] : []),
    ...(stringAt(spec, "ipFamilyPolicy") === "" ? [] : [forbiddenField("spec.ipFamilyPolicy", why)]),
  ];
}

function clusterIpErrors(spec: JsonObject): FieldError[] {
  const clusterIp = stringAt(spec, "clusterIP");
  const listed = stringsAt(spec, "clusterIPs");
  const families = stringsAt(spec, "ipFamilies");
  const policy = stringAt(spec, "ipFamilyPolicy");
  const errors: FieldError[] = [];
  if (clusterIp === "" && listed.length > 0)
    errors.push(invalidList("spec.clusterIPs", listed, "must be empty when `clusterIP` is not specified"));
  if (clusterIp !== "" && listed[0] !== clusterIp)
    errors.push(invalidList("spec.clusterIPs", listed, "first value must match `clusterIP`"));
  families.forEach((family, index) => {
    if (!FAMILIES.has(family)) errors.push(unsupportedValue(`spec.ipFamilies[${index}]`, family, FAMILIES));
    if (families.indexOf(family) < index)
      errors.push({
        field: `spec.ipFamilies[${index}]`,
        reason: "FieldValueDuplicate",
        message: `Duplicate value: ${JSON.stringify(family)}`,
      });
  });
  if (policy !== "" && !POLICIES.has(policy)) errors.push(unsupportedValue("spec.ipFamilyPolicy", policy, POLICIES));
  return [...errors, ...addressErrors(listed, families)];
}

function addressErrors(listed: readonly string[], families: readonly string[]): FieldError[] {
  if (listed[0] === HEADLESS)
    return listed.length > 1 ? [invalidList("spec.clusterIPs", listed, "'None' must be the first and only value")] : [];
  const malformed = listed.flatMap((ip, index) =>
    familyOf(ip) === undefined
      ? [invalidValue(`spec.clusterIPs[${index}]`, ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
      : [],
  );
  if (malformed.length > 0) return malformed;
  if (listed.length > 2) return [invalidList("spec.clusterIPs", listed, "may only hold up to 2 values")];
  if (new Set(listed.map(familyOf)).size < listed.length)
    return [invalidList("spec.clusterIPs", listed, "may specify no more than one IP for each IP family")];
  return listed.flatMap((ip, index) => {
    const expected = families[index];
    if (expected === undefined || expected === familyOf(ip)) return [];
    return [
      invalidValue(
        `spec.clusterIPs[${index}]`,
        ip,
        `expected an ${expected} value as indicated by \`ipFamilies[${index}]\``,
      ),
    ];
  });
}

function portErrors(spec: JsonObject, port: JsonObject, path: string): FieldError[] {
  const { port: number, targetPort, nodePort } = port;
  const errors: FieldError[] = [];
  if (!isPort(number)) errors.push(invalidValue(`${path}.port`, number ?? 0, PORT_RANGE));
  if (typeof targetPort === "number" && !isPort(targetPort))
    errors.push(invalidValue(`${path}.targetPort`, targetPort, PORT_RANGE));
  if (typeof nodePort === "number" && nodePort !== 0 && !needsNodePorts(spec)) {
    errors.push(forbiddenField(`${path}.nodePort`, `may not be used when \`type\` is '${stringAt(spec, "type")}'`));
  }
  return errors;
}

const PORT_RANGE = "must be between 1 and 65535, inclusive";

function isPort(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535;
}

/** A service keeps its address for life, unless it turns into a mere name and back. */
function clusterIpUpdateErrors(spec: JsonObject, before: JsonObject): FieldError[] {
  if (!needsClusterIp(spec) || !needsClusterIp(before) || (isHeadless(spec) && isHeadless(before))) return [];
  const listed = stringsAt(spec, "clusterIPs");
  const had = stringsAt(before, "clusterIPs");
  if (listed.length === 0 && had.length > 0)
    return [invalidList("spec.clusterIPs[0]", listed, "primary clusterIP can not be unset")];
  const changed = had.slice(0, listed.length).findIndex((ip, index) => listed[index] !== ip);
  return changed < 0 ? [] : [invalidList(`spec.clusterIPs[${changed}]`, listed, "may not change once set")];
}
