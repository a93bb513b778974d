/** The subnets from which cluster IPs are allocated. */
import { bitsOf, formatAddress, parseAddress, type IpFamily } from "../../meta/ip-address.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";
import { unaskedFrom, type NumberRange } from "./number-range.ts";

export interface IpRange extends NumberRange {
  readonly family: IpFamily;
  /** The same range with at most this many addresses. */
  first(count: number): IpRange;
}

/**
 * Maximum number of addresses that are used of a larger subnet, so that every index is a safe integer.
 */
const ADDRESSES_MAX = 2 ** 52;

/** The network address is never allocated, nor is the broadcast address of an IPv4 network. */
const UNUSED: Readonly<Record<IpFamily, number>> = { IPv4: 2, IPv6: 1 };

/**
 * Parses one subnet, or two of different families that a comma separates. Throws an error for any other text, and for a
 * subnet from which servers of this release cannot allocate.
 */
export function parseIpRanges(text: string, gates: ReleaseGates): readonly [IpRange, ...IpRange[]] {
  const [first = "", ...rest] = text.split(",");
  if (rest.length > 1)
    throw new Error("the service cluster IP range (--service-cluster-ip-range) must not contain more than two subnets");
  const ranges = [parseIpRange(first), ...rest.map(parseIpRange)] as const;
  if (ranges[0].family === ranges[1]?.family)
    throw new Error(
      "the two subnets of the service cluster IP range (--service-cluster-ip-range) must be of different IP families",
    );
  for (const range of ranges) rejectLarge(range, gates);
  return ranges;
}

/** As kubernetes: a bitmap has at most 2^20 bits, and a ServiceCIDR at most 2^64 addresses. */
function rejectLarge({ text, family }: IpRange, gates: ReleaseGates): void {
  const prefixLength = prefixLengthOf(text);
  const bits = bitsOf(family);
  const hostBitsMax = gates.isOn("DisableAllocatorDualWrite") ? 64 : 20;
  if (bits - prefixLength > hostBitsMax)
    throw new Error(
      `the service cluster IP range ${text} is too large; its prefix length must be at least ${bits - hostBitsMax}`,
    );
}

/** The prefix length of a subnet in canonical form. */
export function prefixLengthOf(cidr: string): number {
  return Number(cidr.slice(cidr.indexOf("/") + 1));
}

/** Throws an error if the text is not a subnet with at least one address to allocate. */
export function parseIpRange(text: string): IpRange {
  const [ip = "", length = "", ...rest] = text.split("/");
  const address = parseAddress(ip);
  const bits = address?.family === "IPv6" ? 128 : 32;
  if (address === undefined || rest.length > 0 || !/^\d{1,3}$/.test(length) || Number(length) > bits) {
    throw new Error(
      `the service cluster IP range (--service-cluster-ip-range) must be a subnet such as 10.0.0.0/24, not ${JSON.stringify(text)}`,
    );
  }
  const hostBits = BigInt(bits - Number(length));
  const network = (address.value >> hostBits) << hostBits;
  const usable = (1n << hostBits) - BigInt(UNUSED[address.family]);
  if (usable < 1n) throw new Error(`the service cluster IP range ${text} has no address to allocate`);
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
    first: (count) => ipRange({ family, network, prefixLength, size: Math.min(size, count) }),
    unaskedFrom: unaskedFrom(size + UNUSED[family], { min: 16, max: 256, step: 16 }),
    nameAt: (index) => formatAddress({ family, value: network + 1n + BigInt(index) }),
    indexOf(name) {
      const address = parseAddress(name);
      if (address?.family !== family) return undefined;
      const index = address.value - network - 1n;
      return index >= 0n && index < BigInt(size) ? Number(index) : undefined;
    },
  };
}
