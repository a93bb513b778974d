/** IP addresses as texts and numbers. */
export type IpFamily = "IPv4" | "IPv6";

export interface Address {
  readonly family: IpFamily;
  readonly value: bigint;
}

export function familyOf(ip: string): IpFamily | undefined {
  return parseAddress(ip)?.family;
}

/** One spelling for each address; undefined for what is none. */
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

export function formatAddress({ family, value }: Address): string {
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
