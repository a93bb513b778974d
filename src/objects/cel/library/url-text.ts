/** Parses URLs as Go parses them from a request line. */
import { goQuote } from "../../../meta/go-quote.ts";

export interface ParsedUrl {
  readonly scheme: string;
  readonly host: string;
  readonly escapedPath: string;
  readonly query: string;
}

/** Go's error about a malformed URL. */
export class UrlError extends Error {
  override readonly name = "UrlError";
}

function failed(text: string, why: string): UrlError {
  return new UrlError(`parse ${goQuote(text)}: ${why}`);
}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s;
// oxlint-disable-next-line no-control-regex -- control characters are rejected
const CONTROL = /[\u0000-\u001f\u007f]/;
const BAD_ESCAPE = /%(?![0-9a-fA-F]{2})/;
const VALID_PATH = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/]|%[0-9a-fA-F]{2})*$/;
// oxlint-disable-next-line no-control-regex -- the pattern finds non-ASCII characters
const VALID_HOST = /^(?:[A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"]|%[0-9a-fA-F]{2}|[^\u0000-\u007f])*$/;

function badEscape(text: string): string | undefined {
  const match = BAD_ESCAPE.exec(text);
  return match === null ? undefined : `invalid URL escape ${goQuote(text.slice(match.index, match.index + 3))}`;
}

function percentDecoded(text: string): string {
  const bytes: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (text[index] === "%") {
      bytes.push(Number.parseInt(text.slice(index + 1, index + 3), 16));
      index += 2;
    } else if (code < 0x80) bytes.push(code);
    else {
      const character = String.fromCodePoint(text.codePointAt(index) ?? 0xfffd);
      bytes.push(...Buffer.from(character, "utf8"));
      index += character.length - 1;
    }
  }
  return Buffer.from(bytes).toString("utf8");
}

function pathEscaped(path: string): string {
  if (VALID_PATH.test(path)) return path;
  return percentDecoded(path).replaceAll(/[^A-Za-z0-9\-_.~$&+,/:;=@]/gu, (character) =>
    [...Buffer.from(character, "utf8")].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );
}

function checkedHost(text: string, authority: string): string {
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const bracket = host.lastIndexOf("]");
  if (host.startsWith("[") && bracket < 0) throw failed(text, "missing ']' in host");
  const rest = host.startsWith("[")
    ? host.slice(bracket + 1)
    : host.slice(host.lastIndexOf(":") < 0 ? host.length : host.lastIndexOf(":"));
  if (!/^(?::\d*)?$/.test(rest)) throw failed(text, `invalid port ${goQuote(rest)} after host`);
  const escape = badEscape(host);
  if (escape !== undefined) throw failed(text, escape);
  if (VALID_HOST.test(host)) return percentDecoded(host);
  const bad = [...host].find((character) => !VALID_HOST.test(character) && character !== "%") ?? "";
  throw failed(text, `invalid character ${goQuote(bad)} in host name`);
}

export function parseUrl(text: string): ParsedUrl {
  if (CONTROL.test(text)) throw failed(text, "net/url: invalid control character in URL");
  if (text === "") throw failed(text, "empty url");
  if (text.startsWith(":")) throw failed(text, "missing protocol scheme");
  const match = SCHEME.exec(text);
  const scheme = (match?.[1] ?? "").toLowerCase();
  const [hierarchy = "", ...queryParts] = (match?.[2] ?? text).split("?");
  const [query = ""] = queryParts.join("?").split("#");
  if (!hierarchy.startsWith("/")) {
    if (scheme === "") throw failed(text, "invalid URI for request");
    return { scheme, host: "", escapedPath: "", query };
  }
  const hasAuthority = hierarchy.startsWith("//") && (scheme !== "" || !hierarchy.startsWith("///"));
  const slash = hasAuthority ? authorityEnd(hierarchy) : 0;
  const whole = hierarchy.slice(slash);
  const host = hasAuthority ? checkedHost(text, hierarchy.slice(2, slash)) : "";
  const [path = ""] = queryParts.length === 0 ? whole.split("#") : [whole];
  const escape = badEscape(path);
  if (escape !== undefined) throw failed(text, escape);
  return { scheme, host, escapedPath: pathEscaped(path), query };
}

function authorityEnd(hierarchy: string): number {
  const slash = hierarchy.indexOf("/", 2);
  return slash < 0 ? hierarchy.length : slash;
}

/** Parses a query string, and ignores its malformed parts. */
export function parseQuery(query: string): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const pair of query.split("&")) {
    if (pair === "" || pair.includes(";") || BAD_ESCAPE.test(pair)) continue;
    const equal = pair.indexOf("=");
    const [key, value] = equal < 0 ? [pair, ""] : [pair.slice(0, equal), pair.slice(equal + 1)];
    const name = percentDecoded(key.replaceAll("+", " "));
    const known = values.get(name);
    const decoded = percentDecoded(value.replaceAll("+", " "));
    if (known === undefined) values.set(name, [decoded]);
    else known.push(decoded);
  }
  return values;
}
