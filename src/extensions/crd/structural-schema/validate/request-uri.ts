/** Validates the format "uri": a URI or an absolute path, as Go parses a request target. */
import { parseAddress } from "../../../../meta/ip-address.ts";

export function isRequestUri(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (text === "" || /[\u0000-\u001f\u007f]/.test(text)) return false;
  if (text === "*") return true;
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*(?=:)/.exec(text)?.[0] ?? "";
  if (scheme === "" && text.startsWith(":")) return false;
  const [rest = ""] = (scheme === "" ? text : text.slice(scheme.length + 1)).split("?", 1);
  if (!rest.startsWith("/")) return scheme !== "";
  if (scheme === "" || !rest.startsWith("//")) return isEscapedWell(rest);
  const slash = rest.indexOf("/", 2);
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash);
  return isAuthority(authority, scheme.toLowerCase()) && (slash < 0 || isEscapedWell(rest.slice(slash)));
}

function isEscapedWell(text: string): boolean {
  return !/%(?![0-9a-fA-F]{2})/.test(text);
}

function isAuthority(authority: string, scheme: string): boolean {
  const at = authority.lastIndexOf("@");
  if (!isHost(authority.slice(at + 1), scheme)) return false;
  const user = at < 0 ? "" : authority.slice(0, at);
  return /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) && isEscapedWell(user);
}

function isHost(host: string, scheme: string): boolean {
  const bracket = host.lastIndexOf("[");
  if (bracket > 0) return false;
  if (bracket === 0) return isLiteralHost(host);
  const isStrict = scheme === "http" || scheme === "https";
  const colon = isStrict ? host.indexOf(":") : host.lastIndexOf(":");
  return (colon < 0 || isPort(host.slice(colon))) && isHostText(host);
}

/** An IPv6 address in brackets, with an optional zone. */
function isLiteralHost(host: string): boolean {
  const end = host.lastIndexOf("]");
  if (end < 0 || !isPort(host.slice(end + 1))) return false;
  const inner = host.slice(1, end);
  const zoneAt = inner.indexOf("%25");
  const zone = zoneAt < 0 ? undefined : inner.slice(zoneAt);
  if (zone !== undefined && (zone.length === 3 || !isZoneText(zone))) return false;
  return parseAddress(zoneAt < 0 ? inner : inner.slice(0, zoneAt))?.family === "IPv6";
}

function isPort(text: string): boolean {
  return /^(?::[0-9]*)?$/.test(text);
}

const HOST_CHARACTER = String.raw`[A-Za-z0-9\-_.~!$&'()*+,;=:<>"[\]\u0080-\uffff]`;
/** A host may contain only non-ASCII characters and the percent sign in escaped form. */
const HOST_TEXT = new RegExp(String.raw`^(?:${HOST_CHARACTER}|%[89a-fA-F][0-9a-fA-F]|%25)*$`);
const ZONE_TEXT = new RegExp(String.raw`^(?:${HOST_CHARACTER}|%[0-9a-fA-F]{2})*$`);

function isHostText(text: string): boolean {
  return HOST_TEXT.test(text);
}

/** DIFFERS: kubernetes also checks which ASCII characters a zone contains in escaped form. */
function isZoneText(text: string): boolean {
  return ZONE_TEXT.test(text);
}
