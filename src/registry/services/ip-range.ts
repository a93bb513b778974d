/** The subnet cluster IPs are taken from. */
import { unaskedFrom, type NumberRange } from "./number-range.ts";

export type IpFamily = "IPv4" | "IPv6";

export interface IpRange extends NumberRange {
  readonly family: IpFamily;
}

interface Address {
  readonly family: IpFamily;
  readonly value: bigint;
}

/** More are never needed, and every index stays a safe integer. */
const ADDRESSES_MAX = 2 ** 24;

/** Throws one sentence for what is not a subnet with room for services. */
export function parseIpRange(text: string): IpRange {
  const [ip = "", length = "", ...rest] = text.split("/");
  const address = parseAddress(ip);
  const bits = address?.family === "IPv6" ? 128 : 32;
  if (address === undefined || rest.length > 0 || !/^\d{1,3}$/.test(length) || Number(length) > bits) {
    throw new Error(`the service cluster IP range must be one subnet such as 10.0.0.0/24, not ${JSON.stringify(text)}`);
  }
  const hostBits = BigInt(bits - Number(length));
  const network = (address.value >> hostBits) << hostBits;
  // The network's own address is never handed out, nor is an IPv4 network's last one.
  const usable = (1n << hostBits) - (address.family === "IPv4" ? 2n : 1n);
  if (usable < 1n) throw new Error(`the service cluster IP range ${text} has no address to hand out`);
  const size = usable > BigInt(ADDRESSES_MAX) ? ADDRESSES_MAX : Number(usable);
  return ipRange({ family: address.family, network, prefixLength: Number(length), size });
}

function ipRange({
  family,
  network,
  prefixLength,
  size,
}: {
  family: IpFamily;
  network: bigint;
  prefixLength: number;
  size: number;
}): IpRange {
  return {
    family,
    text: `${formatAddress({ family, value: network })}/${prefixLength}`,
    size,
    unaskedFrom: unaskedFrom(size + 2, { min: 16, max: 256, step: 16 }),
    nameAt: (index) => formatAddress({ family, value: network + 1n + BigInt(index) }),
    indexOf(name) {
      const address = parseAddress(name);
      if (address?.family !== family) return undefined;
      const index = address.value - network - 1n;
      return index >= 0n && index < BigInt(size) ? Number(index) : undefined;
    },
  };
}

export function familyOf(ip: string): IpFamily | undefined {
  return parseAddress(ip)?.family;
}

/** One spelling for each address; undefined for what is none. */
export function canonicalIp(ip: string): string | undefined {
  const address = parseAddress(ip);
  return address === undefined ? undefined : formatAddress(address);
}

function parseAddress(text: string): Address | undefined {
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
    const low = parseIpv4(embedded[2]!);
    return low === undefined
      ? undefined
      : parseIpv6(`${embedded[1]!}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`);
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

function formatAddress({ family, value }: Address): string {
  if (family === "IPv4") return [24n, 16n, 8n, 0n].map((shift) => ((value >> shift) & 0xffn).toString()).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  return compressZeros(groups);
}

/** The first longest run of two zero groups or more becomes "::" (RFC 5952). */
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
