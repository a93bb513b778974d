/** The CEL types IP and CIDR, and their functions. */
import { goQuote } from "../../../meta/go-quote.ts";
import { type Address, bitsOf, formatAddress, parseAddress } from "../../../meta/ip-address.ts";
import { EvalError, NO_SUCH_OVERLOAD, OpaqueValue, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";

class Ip extends OpaqueValue {
  readonly typeName = "net.IP";
  readonly address: Address;
  override readonly size: number;

  constructor(address: Address) {
    super();
    this.address = address;
    this.size = bitsOf(address.family) / 8;
  }

  equals(other: Value): boolean | EvalError {
    if (!(other instanceof Ip)) return NO_SUCH_OVERLOAD;
    return this.address.family === other.address.family && this.address.value === other.address.value;
  }

  toString(): string {
    return formatAddress(this.address);
  }
}

class Cidr extends OpaqueValue {
  readonly typeName = "net.CIDR";
  readonly address: Address;
  readonly prefixLength: number;
  override readonly size: number;

  constructor(address: Address, prefixLength: number) {
    super();
    this.address = address;
    this.prefixLength = prefixLength;
    this.size = Math.ceil(prefixLength / 8);
  }

  equals(other: Value): boolean | EvalError {
    if (!(other instanceof Cidr)) return NO_SUCH_OVERLOAD;
    return this.toString() === other.toString();
  }

  toString(): string {
    return `${formatAddress(this.address)}/${this.prefixLength}`;
  }
}

const MAPPED = 0xffffn;

function isMapped({ family, value }: Address): boolean {
  return family === "IPv6" && value >> 32n === MAPPED;
}

function whyNotIpv4(text: string): string {
  const parts = text.split(".");
  const bad = /[^0-9.]/.exec(text);
  if (bad !== null) return `unexpected character (at ${goQuote(text.slice(bad.index))})`;
  if (parts.some((part) => part === "")) return `IPv4 field must have at least one digit`;
  if (parts.some((part) => /^0./.test(part))) return "IPv4 field has octet with leading zero";
  if (parts.some((part) => Number(part) > 255)) return "IPv4 field has value >255";
  return parts.length < 4 ? "IPv4 address too short" : "IPv4 address too long";
}

/** Go's message for text that is not an address, for the most frequent mistakes. */
function parseFailure(text: string): string {
  const separator = /[.:%]/.exec(text)?.[0];
  const why = separator === "." ? whyNotIpv4(text) : "unable to parse IP";
  return `ParseAddr(${goQuote(text)}): ${why}`;
}

function parseIp(text: string): Ip | EvalError {
  const zone = text.indexOf("%");
  const address = parseAddress(zone > 0 ? text.slice(0, zone) : text);
  if (address === undefined || (zone > 0 && address.family === "IPv4")) {
    const failure = parseFailure(text);
    return new EvalError(`IP Address ${goQuote(text)} parse error during conversion from string: ${failure}`);
  }
  if (zone > 0) return new EvalError(`IP address ${goQuote(text)} with zone value is not allowed`);
  if (isMapped(address)) return new EvalError(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  return new Ip(address);
}

function networkFailure(text: string, address: Address | undefined, bits: string): string | undefined {
  if (!text.includes("/")) return "no '/'";
  if (address === undefined) return parseFailure(text.slice(0, text.lastIndexOf("/")));
  if (!/^(?:0|[1-9]\d{0,2})$/.test(bits)) return `bad bits after slash: ${goQuote(bits)}`;
  return Number(bits) > bitsOf(address.family) ? "prefix length out of range" : undefined;
}

function parseCidr(text: string): Cidr | EvalError {
  const slash = text.lastIndexOf("/");
  const address = slash < 0 ? undefined : parseAddress(text.slice(0, slash));
  const bits = text.slice(slash + 1);
  const failure = networkFailure(text, address, bits);
  const prefix = "network address parse error during conversion from string";
  if (address === undefined || failure !== undefined)
    return new EvalError(`${prefix}: ${prefix}: netip.ParsePrefix(${goQuote(text)}): ${failure ?? ""}`);
  if (isMapped(address)) return new EvalError(`${prefix}: IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  return new Cidr(address, Number(bits));
}

function networkOf({ family, value }: Address, prefixLength: number): bigint {
  const shift = BigInt(bitsOf(family) - prefixLength);
  return (value >> shift) << shift;
}

function contains(cidr: Cidr, address: Address): boolean {
  if (cidr.address.family !== address.family) return false;
  return networkOf(address, cidr.prefixLength) === networkOf(cidr.address, cidr.prefixLength);
}

function containsCidr(outer: Cidr, inner: Cidr): boolean {
  return contains(outer, inner.address) && outer.prefixLength <= inner.prefixLength;
}

/** Tests whether an address is in one of the networks. */
function within(...networks: string[]): (ip: Ip) => boolean {
  const parsed = networks.map(parseCidr).filter((network) => network instanceof Cidr);
  return ({ address }) => parsed.some((network) => contains(network, address));
}

const isUnspecified = within("0.0.0.0/32", "::/128");
const isLoopback = within("127.0.0.0/8", "::1/128");
const isLinkLocalUnicast = within("169.254.0.0/16", "fe80::/10");
const isMulticast = within("224.0.0.0/4", "ff00::/8");

function isLinkLocalMulticast(ip: Ip): boolean {
  const { family, value } = ip.address;
  if (family === "IPv4") return value >> 8n === 0xe00000n;
  return value >> 120n === 0xffn && ((value >> 112n) & 0xfn) === 2n;
}

function isGlobalUnicast(ip: Ip): boolean {
  const isBroadcast = ip.address.family === "IPv4" && ip.address.value === 0xffffffffn;
  return !isBroadcast && ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast].some((test) => test(ip));
}

function isCanonical(text: string): Value {
  const ip = parseIp(text);
  return ip instanceof Ip ? ip.toString() === text : ip;
}

export const ADDRESSES: readonly Overload[] = [
  overload("string_to_ip", "ip(string): IP", parseIp),
  overload("ip_family", "IP.family(): int", ({ address }: Ip) => (address.family === "IPv4" ? 4n : 6n)),
  overload("ip_is_canonical", ":ip.isCanonical(string): bool", isCanonical),
  overload("ip_is_unspecified", "IP.isUnspecified(): bool", isUnspecified),
  overload("ip_is_loopback", "IP.isLoopback(): bool", isLoopback),
  overload("ip_is_link_local_multicast", "IP.isLinkLocalMulticast(): bool", isLinkLocalMulticast),
  overload("ip_is_link_local_unicast", "IP.isLinkLocalUnicast(): bool", isLinkLocalUnicast),
  overload("ip_is_global_unicast", "IP.isGlobalUnicast(): bool", isGlobalUnicast),
  overload("is_ip", "isIP(string): bool", (text: string) => parseIp(text) instanceof Ip),
  overload("ip_to_string", "string(IP): string", (ip: Ip) => ip.toString()),
  overload("string_to_cidr", "cidr(string): CIDR", parseCidr),
  overload("cidr_contains_ip_string", "CIDR.containsIP(string): bool", (cidr: Cidr, text: string) => {
    const ip = parseIp(text);
    return ip instanceof Ip ? contains(cidr, ip.address) : NO_SUCH_OVERLOAD;
  }),
  overload("cidr_contains_ip_ip", "CIDR.containsIP(IP): bool", (cidr: Cidr, ip: Ip) => contains(cidr, ip.address)),
  overload("cidr_contains_cidr_string", "CIDR.containsCIDR(string): bool", (cidr: Cidr, text: string) => {
    const inner = parseCidr(text);
    return inner instanceof Cidr ? containsCidr(cidr, inner) : inner;
  }),
  overload("cidr_contains_cidr", "CIDR.containsCIDR(CIDR): bool", containsCidr),
  overload("cidr_ip", "CIDR.ip(): IP", ({ address }: Cidr) => new Ip(address)),
  overload("cidr_prefix_length", "CIDR.prefixLength(): int", ({ prefixLength }: Cidr) => BigInt(prefixLength)),
  overload("cidr_masked", "CIDR.masked(): CIDR", ({ address, prefixLength }: Cidr) => {
    return new Cidr({ family: address.family, value: networkOf(address, prefixLength) }, prefixLength);
  }),
  overload("is_cidr", "isCIDR(string): bool", (text: string) => parseCidr(text) instanceof Cidr),
  overload("cidr_to_string", "string(CIDR): string", (cidr: Cidr) => cidr.toString()),
];
