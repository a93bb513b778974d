/** Parses and formats IP addresses and networks. */
export type IpFamily = "IPv4" | "IPv6";

export interface Address {
  readonly family: IpFamily;
  readonly value: bigint;
}

export function familyOf(ip: string): IpFamily | undefined {
  return parseAddress(ip)?.family;
}

/** The canonical text of an address; undefined if the text is not an address. */
export function canonicalIp(ip: string): string | undefined {
  const address = parseAddress(ip);
  return address === undefined ? undefined : formatAddress(address);
}

export function parseAddress(text: string): Address | undefined {
  const value = text.includes(":") ? parseIpv6(text) : parseIpv4(text);
  return value === undefined ? undefined : { family: text.includes(":") ? "IPv6" : "IPv4", value };
}

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255))
    return undefined;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseIpv6(text: string): bigint | undefined {
  if (text.length > 45) return undefined;
  const embedded = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (embedded !== null) {
    const [, high = "", ipv4 = ""] = embedded;
    const low = parseIpv4(ipv4);
    return low === undefined
      ? undefined
      : parseIpv6(`${high}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`);
  }
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => "0"), ...tail];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return groups.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

export function formatAddress({ family, value }: Address): string {
  if (family === "IPv4") return [24n, 16n, 8n, 0n].map((shift) => ((value >> shift) & 0xffn).toString()).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  return compressZeros(groups);
}

/** Replaces the longest run of at least two zero groups by "::"; of equal runs, the first (RFC 5952). */
function compressZeros(groups: readonly string[]): string {
  let longest = { start: 0, length: 1 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === "0") length++;
    if (length > longest.length) longest = { start, length };
  }
  if (longest.length < 2) return groups.join(":");
  return `${groups.slice(0, longest.start).join(":")}::${groups.slice(longest.start + longest.length).join(":")}`;
}

/** An address as older fields of Kubernetes accept it: with leading zeros, or IPv4 mapped to IPv6. */
interface LooseAddress {
  /** The address itself: IPv4 for an IPv4-mapped IPv6 address. */
  readonly address: Address;
  readonly hasLeadingZeros: boolean;
  readonly isMapped: boolean;
}

const MAPPED_PREFIX = 0xffffn;

export function parseLooseAddress(text: string): LooseAddress | undefined {
  const stripped = withoutLeadingZeros(text);
  const address = parseAddress(stripped);
  if (address === undefined) return undefined;
  const isMapped = address.family === "IPv6" && address.value >> 32n === MAPPED_PREFIX;
  return {
    address: isMapped ? { family: "IPv4", value: address.value & 0xffff_ffffn } : address,
    hasLeadingZeros: parseAddress(text) === undefined,
    isMapped,
  };
}

/** A limit that leaves room for every address with leading zeros. */
const LOOSE_LENGTH_MAX = 100;

function withoutLeadingZeros(text: string): string {
  return text.length > LOOSE_LENGTH_MAX ? "" : text.replace(/(^|[:.])0+(?=[0-9a-fA-F])/g, "$1");
}

interface Cidr {
  readonly family: IpFamily;
  /** The address as written, including the bits after the prefix. */
  readonly ip: bigint;
  readonly network: bigint;
  readonly prefixLength: number;
}

export interface LooseCidr extends Cidr {
  readonly hasLeadingZeros: boolean;
  readonly isMapped: boolean;
}

export function parseLooseCidr(text: string): LooseCidr | undefined {
  const slash = text.indexOf("/");
  const length = text.slice(slash + 1);
  const loose = slash < 0 ? undefined : parseLooseAddress(text.slice(0, slash));
  if (loose === undefined || !/^\d{1,100}$/.test(length)) return undefined;
  const { hasLeadingZeros, isMapped } = loose;
  const family: IpFamily = isMapped ? "IPv6" : loose.address.family;
  const ip = isMapped ? (MAPPED_PREFIX << 32n) | loose.address.value : loose.address.value;
  const bits = bitsOf(family);
  const prefixLength = Number(length);
  if (prefixLength > bits) return undefined;
  const rest = BigInt(bits - prefixLength);
  const network = (ip >> rest) << rest;
  return {
    family,
    ip,
    network,
    prefixLength,
    hasLeadingZeros: hasLeadingZeros || /^0\d/.test(length),
    isMapped,
  };
}

export function bitsOf(family: IpFamily): number {
  return family === "IPv4" ? 32 : 128;
}

/** The canonical text of a network. As Go: an IPv4-mapped IPv6 network is written as IPv4. */
export function formatCidr({ family, network, prefixLength }: Cidr): string {
  if (family === "IPv6" && prefixLength >= 96 && network >> 32n === MAPPED_PREFIX)
    return `${formatAddress({ family: "IPv4", value: network & 0xffff_ffffn })}/${prefixLength - 96}`;
  return `${formatAddress({ family, value: network })}/${prefixLength}`;
}
