/**
 * Builds the head of a request and rejects unsafe parts. They come from clients: an undetected line break would let a
 * client write requests of its own on a connection that the peer trusts.
 */
import { HOP_BY_HOP_HEADERS } from "../../proxy-headers.ts";
import { UpstreamError, type UpstreamMessage } from "../../upstream.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * Characters above 0xff are rejected too, because encoding as Latin-1 would drop their high bits and turn them into
 * other characters, such as CR.
 */
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const TARGET = /^\/[\x21-\x7e\x80-\xff]*$/;

/**
 * Headers that are set for this connection, whatever the request contains. The listener that received the body has
 * handled `Expect`.
 */
const SET_BY_CONNECTION: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  "content-length",
  "expect",
  "host",
  "http2-settings",
]);

/** Methods for which servers may require a length, even if it is zero. */
const USUALLY_WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Returns the head as Latin-1 text, including the empty line. Throws an `UpstreamError` if a part must not be sent. */
export function requestHead(request: UpstreamMessage, authority: string): string {
  const { method, target, headers, isUpgrade } = request;
  if (!TOKEN.test(method) || method === "CONNECT") throw malformedRequest("the request method cannot be sent");
  if (!TARGET.test(target))
    throw malformedRequest("the request target is not a path or has characters that cannot be sent");
  let head = `${method} ${target} HTTP/1.1\r\nHost: ${authority}\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1];
    if (!TOKEN.test(name)) throw malformedRequest("a header name has characters that cannot be sent");
    if (value === undefined || NOT_IN_VALUE.test(value)) {
      throw malformedRequest(`the value of the header ${name} has characters that cannot be sent`);
    }
    const key = name.toLowerCase();
    if (SET_BY_CONNECTION.has(key) && !(key === "upgrade" && isUpgrade)) continue;
    head += `${name}: ${value}\r\n`;
  }
  if (isUpgrade) head += "Connection: Upgrade\r\n";
  return `${head}${framing(request)}\r\n`;
}

function framing({ method, body, contentLength }: UpstreamMessage): string {
  if (body === undefined) return USUALLY_WITH_BODY.has(method) ? "Content-Length: 0\r\n" : "";
  if (contentLength === undefined) return "Transfer-Encoding: chunked\r\n";
  if (!Number.isSafeInteger(contentLength) || contentLength < 0)
    throw malformedRequest("the length of the request body is invalid");
  return `Content-Length: ${contentLength}\r\n`;
}

function malformedRequest(message: string): UpstreamError {
  return new UpstreamError("malformed", message, { isSent: false });
}
