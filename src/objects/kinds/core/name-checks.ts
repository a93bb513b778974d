/** Validation of name formats that only some fields use. The functions return the messages of the violated rules. */
import { required, invalidValue } from "../../../meta/field-errors.ts";
import { dnsLabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";

const SUBDOMAIN = String.raw`[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`;
const WILDCARD = String.raw`\*\.${SUBDOMAIN}`;
const CONFIG_KEY = "[-._a-zA-Z0-9]+";
const HTTP_PATH = String.raw`[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`;
const SUBDOMAIN_LENGTH_MAX = 253;
const PORT_NAME_LENGTH_MAX = 15;

const CONFIG_KEY_PATTERN = new RegExp(`^${CONFIG_KEY}$`);
const HTTP_PATH_PATTERN = new RegExp(`^${HTTP_PATH}$`);

/** Matches only valid keys, but not all of them. */
const PLAIN_CONFIG_KEY = /^[\w-][-.\w]{0,252}$/;

/** True for nearly all keys for which `configKeyErrors` returns nothing. */
export function isPlainConfigKey(key: string): boolean {
  return PLAIN_CONFIG_KEY.test(key);
}

/** As kubernetes IsConfigMapKey. */
export function configKeyErrors(key: string): string[] {
  const errors = key.length > SUBDOMAIN_LENGTH_MAX ? [tooManyCharacters(SUBDOMAIN_LENGTH_MAX)] : [];
  if (!CONFIG_KEY_PATTERN.test(key))
    errors.push(
      `a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '${CONFIG_KEY}')`,
    );
  if (key === "." || key === "..") errors.push(`must not be '${key}'`);
  else if (key.startsWith("..")) errors.push("must not start with '..'");
  return errors;
}

/** As kubernetes IsValidPortName. */
export function portNameErrors(name: string): string[] {
  const errors = name.length > PORT_NAME_LENGTH_MAX ? [tooManyCharacters(PORT_NAME_LENGTH_MAX)] : [];
  if (!/^[-a-z0-9]+$/.test(name)) errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(name)) errors.push("must contain at least one letter (a-z)");
  if (name.includes("--")) errors.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) errors.push("must not begin or end with a hyphen");
  return errors;
}

export function wildcardSubdomainErrors(name: string): string[] {
  const errors = name.length > SUBDOMAIN_LENGTH_MAX ? [tooManyCharacters(SUBDOMAIN_LENGTH_MAX)] : [];
  // Report only the syntax of the part after the star, because the length has been checked above.
  if (!name.startsWith("*.") || dnsSubdomainErrors(name.slice(2)).some((sentence) => sentence.startsWith("a ")))
    errors.push(
      `a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '${WILDCARD}')`,
    );
  return errors;
}

function tooManyCharacters(max: number): string {
  return `must be no more than ${max} characters`;
}

/** As kubernetes IsDomainPrefixedPath, such as "example.com/controller". */
export function* domainPrefixedPathErrors(value: string, field: string): Generator<FieldError> {
  if (value === "") {
    yield required(field);
    return;
  }
  const slash = value.indexOf("/");
  const host = value.slice(0, Math.max(slash, 0));
  const path = value.slice(slash + 1);
  if (host === "" || path === "") {
    yield invalidValue(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")');
    return;
  }
  for (const sentence of dnsSubdomainErrors(host)) yield invalidValue(field, host, sentence);
  if (!HTTP_PATH_PATTERN.test(path))
    yield invalidValue(field, path, `Invalid path (regex used for validation is '${HTTP_PATH}')`);
}

/** As kubernetes IsFullyQualifiedDomainName. */
export function* fullDomainErrors(value: string, field: string): Generator<FieldError> {
  if (value === "") {
    yield required(field);
    return;
  }
  const name = value.endsWith(".") ? value.slice(0, -1) : value;
  const sentences = dnsSubdomainErrors(name);
  const labels = name.split(".");
  if (sentences.length > 0) yield invalidValue(field, name, sentences.join(","));
  else if (labels.length < 2)
    yield invalidValue(field, name, "should be a domain with at least two segments separated by dots");
  else {
    const label = labels.find((one) => dnsLabelErrors(one).length > 0);
    if (label !== undefined) yield invalidValue(field, label, dnsLabelErrors(label).join(","));
  }
}
