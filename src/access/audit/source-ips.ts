/** Where a request came from, as far as anybody says. Only the last address is sure. Pure. */
import { formatAddress, parseAddress } from "../../meta/ip-address.ts";
import { headerValue, type ApiRequest } from "../../serving/http/message.ts";

/** As kubernetes util/net#SourceIPs: X-Forwarded-For, X-Real-Ip unless that has it, and who is connected. */
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

/** Zeros in front of numbers are harmless here; an IPv4 address within an IPv6 one is written as what it is. */
function sloppyIp(text: string): string | undefined {
  const plain = text.includes(":") ? text : text.replace(/(^|\.)0+(?=\d)/g, "$1");
  const address = parseAddress(plain);
  if (address === undefined) return undefined;
  const isMapped = address.family === "IPv6" && address.value >> 32n === IPV4_IN_IPV6;
  return formatAddress(isMapped ? { family: "IPv4", value: address.value & 0xffff_ffffn } : address);
}
