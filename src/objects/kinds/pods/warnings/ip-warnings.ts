/** Warnings about IP addresses in non-standard notation, which other programs may parse differently. */
import { canonicalIp, familyOf } from "../../../../meta/ip-address.ts";
import { isMappedIpv4 } from "../rules/formats.ts";

export function* podIpWarnings(ip: string, field: string): Generator<string> {
  const plain = ip.replace(/(^|\.)0+(?=\d)/g, "$1");
  const canonical = canonicalIp(plain);
  if (canonical === undefined) return;
  if (familyOf(ip) === undefined || isMappedIpv4(ip))
    yield `${field}: non-standard IP address ${JSON.stringify(ip)} is invalid: use ${JSON.stringify(unmapped(canonical))}`;
  else if (familyOf(ip) === "IPv6" && canonical !== ip)
    yield `${field}: IPv6 address ${JSON.stringify(ip)} should be in RFC 5952 canonical format (${JSON.stringify(canonical)})`;
}

function unmapped(canonical: string): string {
  const words = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical);
  if (words === null) return canonical;
  const [high = 0, low = 0] = words.slice(1).map((word) => Number.parseInt(word, 16));
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}
