/** Validation of formats that only pods use, with Kubernetes' messages. */
import { invalidValue, required, tooLong } from "../../../../meta/field-errors.ts";
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { familyOf, parseAddress } from "../../../../meta/ip-address.ts";
import { nameErrors } from "../../checks.ts";
import type { KindContext } from "../../kind.ts";

const NAME_LENGTH_MAX = 253;
/** Longer texts have already been rejected for their length and are not matched against a pattern. */
const MATCHED_LENGTH_MAX = 4096;

export function envVarNameErrors(name: string): string[] {
  const errors = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(name)
    ? []
    : [
        "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')",
      ];
  return [...errors, ...upwardErrors(name)];
}

export function relaxedEnvVarNameErrors(name: string): string[] {
  if (name === "") return ["environment variable name must be non-empty"];
  return /^[\x20-\x3c\x3e-\x7e]+$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

export function httpHeaderNameErrors(name: string): string[] {
  return /^[-A-Za-z0-9]+$/.test(name)
    ? []
    : [
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
      ];
}

function upwardErrors(name: string): string[] {
  if (name === "." || name === "..") return [`must not be '${name}'`];
  return name.startsWith("..") ? ["must not start with '..'"] : [];
}

const UNDERSCORE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const UNDERSCORE_SUBDOMAIN = `${UNDERSCORE_LABEL}(\\.${UNDERSCORE_LABEL})*`;
const UNDERSCORE_SUBDOMAIN_PATTERN = new RegExp(`^${UNDERSCORE_SUBDOMAIN}$`);

/** Checks a DNS subdomain of a search list, which may have underscores. */
export function searchDomainErrors(name: string): string[] {
  const errors = name.length > NAME_LENGTH_MAX ? [`must be no more than ${NAME_LENGTH_MAX} characters`] : [];
  if (name.length <= MATCHED_LENGTH_MAX && !UNDERSCORE_SUBDOMAIN_PATTERN.test(name))
    errors.push(
      `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${UNDERSCORE_SUBDOMAIN}')`,
    );
  return errors;
}

export function* dnsLabelFieldErrors(value: string, field: string): Generator<FieldError> {
  yield* nameErrors(value, field, dnsLabelErrors);
}

export function* dnsSubdomainFieldErrors(value: string, field: string): Generator<FieldError> {
  yield* nameErrors(value, field, dnsSubdomainErrors);
}

export function* qualifiedNameFieldErrors(value: string, field: string): Generator<FieldError> {
  yield* nameErrors(value, field, qualifiedNameErrors);
}

/**
 * If the gate StrictIPCIDRValidation is off, also accepts leading zeros, as in `010.0.0.1`, and IPv4-mapped IPv6
 * addresses.
 */
export function* ipErrors(ip: string, field: string, context: KindContext): Generator<FieldError> {
  if (familyOf(withoutLeadingZeros(ip)) === undefined) {
    yield invalidValue(field, ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    return;
  }
  if (!context.gates.isOn("StrictIPCIDRValidation")) return;
  if (familyOf(ip) === undefined) yield invalidValue(field, ip, "must not have leading 0s");
  else if (isMappedIpv4(ip)) yield invalidValue(field, ip, "must not be an IPv4-mapped IPv6 address");
}

export function withoutLeadingZeros(ip: string): string {
  return ip.replace(/(^|\.)0+(?=\d)/g, "$1");
}

const MAPPED_PREFIX = 0xffffn;

export function isMappedIpv4(ip: string): boolean {
  const address = parseAddress(ip);
  return address?.family === "IPv6" && address.value >> 32n === MAPPED_PREFIX;
}

const DRIVER_NAME_BYTES_MAX = 63;

/** Checks the name of a CSI driver; PersistentVolumes use it, too. */
export function* driverNameErrors(name: string, field: string): Generator<FieldError> {
  if (name === "") {
    yield required(field);
    return;
  }
  if (Buffer.byteLength(name) > DRIVER_NAME_BYTES_MAX) yield tooLong(field, DRIVER_NAME_BYTES_MAX);
  for (const sentence of dnsSubdomainErrors(name.toLowerCase())) yield invalidValue(field, name, sentence);
}

export function* descendingPathErrors(path: string, field: string): Generator<FieldError> {
  if (path.startsWith("/")) yield invalidValue(field, path, "must be a relative path");
  yield* backstepErrors(path, field);
}

export function* backstepErrors(path: string, field: string): Generator<FieldError> {
  if (path.split("/").includes("..")) yield invalidValue(field, path, "must not contain '..'");
}

export function* nonReservedPathErrors(path: string, field: string): Generator<FieldError> {
  yield* descendingPathErrors(path, field);
  if (path.startsWith("..") && !path.startsWith("../")) yield invalidValue(field, path, "must not start with '..'");
}

const INT32_MAX = 2_147_483_647;

/** Checks a user or group ID. */
export function* idErrors(id: number | undefined, field: string): Generator<FieldError> {
  if (id !== undefined && (id < 0 || id > INT32_MAX))
    yield invalidValue(field, id, `must be between 0 and ${INT32_MAX}, inclusive`);
}
