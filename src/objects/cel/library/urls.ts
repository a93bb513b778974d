/** The CEL type URL and its functions. */
import { LiteralMap } from "../values/literal-map.ts";
import { ArrayList, EvalError, NO_SUCH_OVERLOAD, OpaqueValue, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";
import { type ParsedUrl, parseQuery, parseUrl, UrlError } from "./url-text.ts";

class Url extends OpaqueValue {
  readonly typeName = "kubernetes.URL";
  readonly parts: ParsedUrl;
  readonly #text: string;

  constructor(text: string, parts: ParsedUrl) {
    super();
    this.#text = text;
    this.parts = parts;
  }

  equals(other: Value): boolean | EvalError {
    return other instanceof Url ? this.#text === other.#text : NO_SUCH_OVERLOAD;
  }

  toString(): string {
    return this.#text;
  }
}

/** The error message for a malformed URL; undefined if the URL is valid. */
export function urlFailure(text: string): string | undefined {
  try {
    parseUrl(text);
    return undefined;
  } catch (error) {
    if (error instanceof UrlError) return error.message;
    throw error;
  }
}

function url(text: string): Value {
  const failure = urlFailure(text);
  if (failure !== undefined) return new EvalError(`URL parse error during conversion from string: ${failure}`);
  return new Url(text, parseUrl(text));
}

function hostname({ parts: { host } }: Url): string {
  if (host.startsWith("[")) return host.slice(1, host.lastIndexOf("]"));
  return host.replace(/:\d*$/, "");
}

function port({ parts: { host } }: Url): string {
  return /:(\d*)$/.exec(host.slice(host.lastIndexOf("]") + 1))?.[1] ?? "";
}

function query({ parts }: Url): Value {
  const result = new LiteralMap();
  for (const [name, values] of parseQuery(parts.query)) result.set(name, new ArrayList(values));
  return result;
}

export const URLS: readonly Overload[] = [
  overload("string_to_url", "url(string): URL", url),
  overload("url_get_scheme", "URL.getScheme(): string", ({ parts }: Url) => parts.scheme),
  overload("url_get_host", "URL.getHost(): string", ({ parts }: Url) => parts.host),
  overload("url_get_hostname", "URL.getHostname(): string", hostname),
  overload("url_get_port", "URL.getPort(): string", port),
  overload("url_get_escaped_path", "URL.getEscapedPath(): string", ({ parts }: Url) => parts.escapedPath),
  overload("url_get_query", "URL.getQuery(): map<string, list<string>>", query),
  overload("is_url_string", "isURL(string): bool", (text: string) => urlFailure(text) === undefined),
];
