/**
 * Parses `--service-endpoint-override`, which sets fixed addresses of Services whose endpoints this server cannot
 * reach.
 */
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { parseAddress } from "../../meta/ip-address.ts";
import { dnsLabelErrors, dnsSubdomainErrors } from "../../meta/names.ts";
import type { ServiceOverrides } from "./service-resolver.ts";

type ParsedOverrides =
  | { readonly isValid: true; readonly overrides: ServiceOverrides }
  /** One sentence for each invalid value. */
  | { readonly isValid: false; readonly problems: readonly string[] };

/** Each text has the form NAME.NAMESPACE=HOST:PORT. */
export function parseServiceOverrides(texts: readonly string[]): ParsedOverrides {
  const overrides = new Map<string, UpstreamAddress>();
  const problems: string[] = [];
  for (const text of texts) {
    const [service, address] = splitAt(text, text.indexOf("="));
    const found = parseHostPort(address);
    if (!isServiceName(service)) problems.push(`${text}: the part before "=" must be NAME.NAMESPACE of a Service.`);
    else if (found === undefined) problems.push(`${text}: the part after "=" must be HOST:PORT.`);
    else if (overrides.has(service)) problems.push(`${text}: ${service} is specified more than once.`);
    else overrides.set(service, found);
  }
  return problems.length === 0 ? { isValid: true, overrides } : { isValid: false, problems };
}

function isServiceName(text: string): boolean {
  const [name, namespace] = splitAt(text, text.indexOf("."));
  return dnsLabelErrors(name).length === 0 && dnsLabelErrors(namespace).length === 0;
}

function parseHostPort(text: string): UpstreamAddress | undefined {
  const [written, digits] = splitAt(text, text.lastIndexOf(":"));
  const port = /^[1-9]\d{0,4}$/.test(digits) ? Number(digits) : 0;
  if (port === 0 || port > 65_535) return undefined;
  const inBrackets = /^\[(.*)\]$/.exec(written)?.[1];
  if (inBrackets !== undefined)
    return parseAddress(inBrackets)?.family === "IPv6" ? { host: inBrackets, port } : undefined;
  const isHost = parseAddress(written)?.family === "IPv4" || dnsSubdomainErrors(written).length === 0;
  return isHost ? { host: written, port } : undefined;
}

function splitAt(text: string, index: number): [before: string, behind: string] {
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + 1)];
}
