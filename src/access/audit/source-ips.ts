/**
 * Determines the source IPs of a request. Only the last of them, the address of the connection, can be trusted. Pure.
 */
import { formatAddress, parseAddress } from "../../meta/ip-address.ts";
import { headerValue, type ApiRequest } from "../../serving/http/message.ts";

/**
 * As kubernetes util/net#SourceIPs: the addresses of X-Forwarded-For, then X-Real-Ip unless it is one of them, then the
 * address of the connection unless it is the last of them.
 */
export function sourceIps({ headers, connection }: Pick<ApiRequest, "headers" | "connection">): string[] {
  const ips: string[] = [];
  const forwarded = headerValue(headers, "x-forwarded-for");
  for (const part of forwarded === undefined ? [] : forwarded.split(",")) {
    const ip = sloppyIp(part.trim());
    if (ip !== undefined) ips.push(ip);
  }
  const real = sloppyIp(headerValue(headers, "x-real-ip") ?? "");
  if (real !== undefined && !ips.includes(real)) ips.push(real);
  const remote = sloppyIp(connection.remoteAddress);
  if (remote !== undefined && remote !== ips.at(-1)) ips.push(remote);
  return ips;
}

const IPV4_IN_IPV6 = 0xffffn;

/** Parses an IP address like Go: accepts leading zeros, and returns an IPv4-mapped IPv6 address as IPv4. */
function sloppyIp(text: string): string | undefined {
  const plain = text.includes(":") ? text : text.replace(/(^|\.)0+(?=\d)/g, "$1");
  const address = parseAddress(plain);
  if (address === undefined) return undefined;
  const isMapped = address.family === "IPv6" && address.value >> 32n === IPV4_IN_IPV6;
  return formatAddress(isMapped ? { family: "IPv4", value: address.value & 0xffff_ffffn } : address);
}
