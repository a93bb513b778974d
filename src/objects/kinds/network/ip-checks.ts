/** Validation and warnings of IP addresses and CIDRs, with Kubernetes' messages. */
import { invalidValue } from "../../../meta/field-errors.ts";
import {
  bitsOf,
  canonicalIp,
  formatAddress,
  formatCidr,
  parseLooseAddress,
  parseLooseCidr,
  type Address,
  type LooseCidr,
} from "../../../meta/ip-address.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { KindContext } from "../kind.ts";

const NO_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NO_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

interface LegacyField {
  readonly field: string;
  /** Values that the stored object already has, which remain valid. */
  readonly existing?: ReadonlySet<string>;
}

/** As kubernetes IsValidIPForLegacyField. */
export function* legacyIpErrors(
  value: string,
  { field, existing }: LegacyField,
  { gates }: KindContext,
): Generator<FieldError> {
  if (existing?.has(value) === true) return;
  const sentence = gates.isOn("StrictIPCIDRValidation") ? strictIpSentence(value) : isIp(value) ? undefined : NO_IP;
  if (sentence !== undefined) yield invalidValue(field, value, sentence);
}

/** As kubernetes IsValidIP: accepts only the canonical form. */
export function canonicalIpSentences(value: string): string[] {
  const sentence = strictIpSentence(value);
  if (sentence !== undefined) return [sentence];
  const canonical = canonicalIp(value);
  return canonical === value ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

export function isIp(value: string): boolean {
  return parseLooseAddress(value) !== undefined;
}

function strictIpSentence(value: string): string | undefined {
  const parsed = parseLooseAddress(value);
  if (parsed === undefined) return NO_IP;
  if (parsed.hasLeadingZeros) return "must not have leading 0s";
  return parsed.isMapped ? "must not be an IPv4-mapped IPv6 address" : undefined;
}

/** As kubernetes IsValidCIDRForLegacyField. */
export function* legacyCidrErrors(
  value: string,
  { field, existing }: LegacyField,
  { gates }: KindContext,
): Generator<FieldError> {
  if (existing?.has(value) === true) return;
  if (gates.isOn("StrictIPCIDRValidation")) yield* strictCidrErrors(value, field);
  else if (parseLooseCidr(value) === undefined) yield invalidValue(field, value, NO_CIDR);
}

/** As kubernetes IsValidCIDR: accepts only the canonical form. */
export function* canonicalCidrErrors(value: string, field: string): Generator<FieldError> {
  const errors = [...strictCidrErrors(value, field)];
  yield* errors;
  const parsed = parseLooseCidr(value);
  if (errors.length > 0 || parsed === undefined) return;
  const canonical = formatCidr(parsed);
  if (canonical !== value) yield invalidValue(field, value, `must be in canonical form (${JSON.stringify(canonical)})`);
}

function* strictCidrErrors(value: string, field: string): Generator<FieldError> {
  const parsed = parseLooseCidr(value);
  if (parsed === undefined) yield invalidValue(field, value, NO_CIDR);
  else if (parsed.hasLeadingZeros) yield invalidValue(field, value, "must not have leading 0s in IP or prefix length");
  else if (parsed.isMapped) yield invalidValue(field, value, "must not have an IPv4-mapped IPv6 address");
  else if (parsed.ip !== parsed.network)
    yield invalidValue(field, value, "must not have bits set beyond the prefix length");
}

interface Special {
  readonly why: (value: string) => string;
  readonly ipv4: (value: bigint) => boolean;
  readonly ipv6: (value: bigint) => boolean;
}

const SPECIAL_ADDRESSES: readonly Special[] = [
  {
    why: (value) => `may not be unspecified (${value})`,
    ipv4: (value) => value === 0n,
    ipv6: (value) => value === 0n,
  },
  {
    why: () => "may not be in the loopback range (127.0.0.0/8, ::1/128)",
    ipv4: (value) => value >> 24n === 127n,
    ipv6: (value) => value === 1n,
  },
  {
    why: () => "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
    ipv4: (value) => value >> 16n === 0xa9fen,
    ipv6: (value) => value >> 118n === 0x3fan,
  },
  {
    why: () => "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
    ipv4: (value) => value >> 8n === 0xe00000n,
    ipv6: (value) => value >> 120n === 0xffn && ((value >> 112n) & 0xfn) === 2n,
  },
];

/** Rejects addresses that no client could use as a destination. */
export function* endpointIpErrors(value: string, field: string): Generator<FieldError> {
  const parsed = parseLooseAddress(value);
  if (parsed === undefined) {
    yield invalidValue(field, value, "must be a valid IP address");
    return;
  }
  for (const special of SPECIAL_ADDRESSES)
    if (isSpecial(special, parsed.address)) yield invalidValue(field, value, special.why(value));
}

function isSpecial({ ipv4, ipv6 }: Special, { family, value }: Address): boolean {
  return family === "IPv4" ? ipv4(value) : ipv6(value);
}

/** As kubernetes GetWarningsForIP. */
export function* ipWarnings(value: string, field: string): Generator<string> {
  const parsed = parseLooseAddress(value);
  if (parsed === undefined) return;
  const canonical = formatAddress(parsed.address);
  if (parsed.hasLeadingZeros || parsed.isMapped)
    yield `${field}: non-standard IP address ${JSON.stringify(value)} is invalid: use ${JSON.stringify(canonical)}`;
  else if (parsed.address.family === "IPv6" && canonical !== value)
    yield `${field}: IPv6 address ${JSON.stringify(value)} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`;
}

/** As kubernetes GetWarningsForCIDR. */
export function* cidrWarnings(value: string, field: string): Generator<string> {
  const parsed = parseLooseCidr(value);
  if (parsed === undefined) return;
  const canonical = JSON.stringify(formatCidr(parsed));
  const shown = `${field}: CIDR value ${JSON.stringify(value)}`;
  const isAmbiguous = parsed.ip !== parsed.network;
  if (isAmbiguous) yield `${shown} is ambiguous in this context (should be ${canonical} or ${singleIp(parsed)}?)`;
  if (parsed.hasLeadingZeros || parsed.isMapped)
    yield `${field}: non-standard CIDR value ${JSON.stringify(value)} is invalid: use ${canonical}`;
  else if (!isAmbiguous && parsed.family === "IPv6" && canonical !== JSON.stringify(value))
    yield `${field}: IPv6 CIDR value ${JSON.stringify(value)} should be in RFC 5952 canonical format (${canonical})`;
}

function singleIp({ family, ip, isMapped }: LooseCidr): string {
  const address: Address = isMapped ? { family: "IPv4", value: ip & 0xffff_ffffn } : { family, value: ip };
  return JSON.stringify(`${formatAddress(address)}/${bitsOf(family)}`);
}
