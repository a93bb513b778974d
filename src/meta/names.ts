/** Validation of names, labels and qualified keys, with Kubernetes' messages. */
import { randomInteger, type Random } from "../base/random.ts";

const DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN = `${DNS_LABEL}(\\.${DNS_LABEL})*`;
const LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE = `(${QUALIFIED_NAME})?`;

const DNS_LABEL_PATTERN = new RegExp(`^${DNS_LABEL}$`);
const SUBDOMAIN_PATTERN = new RegExp(`^${SUBDOMAIN}$`);
const LABEL_1035_PATTERN = new RegExp(`^${LABEL_1035}$`);
const QUALIFIED_NAME_PATTERN = new RegExp(`^${QUALIFIED_NAME}$`);
const LABEL_VALUE_PATTERN = new RegExp(`^${LABEL_VALUE}$`);

const SUBDOMAIN_LENGTH_MAX = 253;
const LABEL_LENGTH_MAX = 63;

/** Returns a message for each rule that the name violates; an empty list means that the name is valid. */
export type NameRule = (name: string) => string[];

export function dnsSubdomainErrors(name: string): string[] {
  const errors = lengthErrors(name, SUBDOMAIN_LENGTH_MAX);
  if (!patternHolds(SUBDOMAIN_PATTERN, name)) {
    errors.push(
      `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`,
    );
  }
  return errors;
}

export function dnsLabelErrors(name: string): string[] {
  const errors = lengthErrors(name, LABEL_LENGTH_MAX);
  if (!patternHolds(DNS_LABEL_PATTERN, name)) {
    if (patternHolds(SUBDOMAIN_PATTERN, name)) return [...errors, "must not contain dots"];
    errors.push(
      `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${DNS_LABEL}')`,
    );
  }
  return errors;
}

export function dns1035LabelErrors(name: string): string[] {
  const errors = lengthErrors(name, LABEL_LENGTH_MAX);
  if (!patternHolds(LABEL_1035_PATTERN, name)) {
    errors.push(
      `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${LABEL_1035}')`,
    );
  }
  return errors;
}

/** The rule for RBAC and similar kinds: any name that can be one path segment. */
export function pathSegmentErrors(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  const errors: string[] = [];
  for (const illegal of ["/", "%"]) if (name.includes(illegal)) errors.push(`may not contain '${illegal}'`);
  return errors;
}

/** The rule for label and annotation keys and finalizers: `[prefix/]name`. */
export function qualifiedNameErrors(value: string): string[] {
  const parts = value.split("/");
  const errors: string[] = [];
  let name = value;
  if (parts.length === 2) {
    const [prefix = "", last = ""] = parts;
    name = last;
    if (prefix === "") errors.push("prefix part must be non-empty");
    // As kubernetes content.IsLabelKey: keys and values are measured in bytes, names in characters.
    else
      errors.push(
        ...dnsSubdomainErrors(prefix).map(
          (sentence) => `prefix part ${sentence.replace(/^(must be no more than [0-9]+) characters$/, "$1 bytes")}`,
        ),
      );
  } else if (parts.length > 2) {
    return [
      `a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${QUALIFIED_NAME}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  if (name === "") errors.push("name part must be non-empty");
  else if (name.length > LABEL_LENGTH_MAX) errors.push(`name part must be no more than ${LABEL_LENGTH_MAX} bytes`);
  if (!patternHolds(QUALIFIED_NAME_PATTERN, name)) {
    errors.push(
      `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${QUALIFIED_NAME}')`,
    );
  }
  return errors;
}

export function labelValueErrors(value: string): string[] {
  const errors = value.length > LABEL_LENGTH_MAX ? [`must be no more than ${LABEL_LENGTH_MAX} bytes`] : [];
  if (!patternHolds(LABEL_VALUE_PATTERN, value)) {
    errors.push(
      `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${LABEL_VALUE}')`,
    );
  }
  return errors;
}

/** Truncates the base so that the suffix fits, and appends five characters that cannot spell words. */
export function generateName(base: string, random: Random): string {
  let suffix = "";
  for (let index = 0; index < 5; index++)
    suffix += SUFFIX_ALPHABET.charAt(randomInteger(random, SUFFIX_ALPHABET.length));
  return base.slice(0, LABEL_LENGTH_MAX - 5) + suffix;
}

const SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/**
 * Returns true for a text of more than 4096 characters without matching it, because names are unbounded and such a text
 * is rejected for its length anyway.
 */
function patternHolds(pattern: RegExp, text: string): boolean {
  return text.length > 4096 || pattern.test(text);
}

function lengthErrors(text: string, max: number): string[] {
  return text.length > max ? [`must be no more than ${max} characters`] : [];
}
