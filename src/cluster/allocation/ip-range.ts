/** The subnet from which cluster IPs are allocated. */
import { formatAddress, parseAddress, type IpFamily } from "../../meta/ip-address.ts";
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

/** Throws an error if the text is not a subnet with at least one address to allocate. */
export function parseIpRange(text: string): IpRange {
  const [ip = "", length = "", ...rest] = text.split("/");
  const address = parseAddress(ip);
  const bits = address?.family === "IPv6" ? 128 : 32;
  if (address === undefined || rest.length > 0 || !/^\d{1,3}$/.test(length) || Number(length) > bits) {
    throw new Error(`the service cluster IP range must be one subnet such as 10.0.0.0/24, not ${JSON.stringify(text)}`);
  }
  const hostBits = BigInt(bits - Number(length));
  const network = (address.value >> hostBits) << hostBits;
  // The network address is never allocated, nor is the broadcast address of an IPv4 network.
  const usable = (1n << hostBits) - (address.family === "IPv4" ? 2n : 1n);
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
