/**
 * The head of a request, as it goes on the wire. What comes in here was sent by a client: a line break that got through
 * would let that client write requests of its own on a connection that the server trusts.
 */
import { HOP_BY_HOP_HEADERS } from "../../proxy-headers.ts";
import { UpstreamError, type UpstreamMessage } from "../../upstream.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Characters above 0xff are refused too: on the wire they would lose their high bits and become others, such as CR. */
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const TARGET = /^\/[\x21-\x7e\x80-\xff]*$/;

/** What this connection decides, whatever the request carries. `Expect` was answered where the body comes from. */
const OURS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  "content-length",
  "expect",
  "host",
  "http2-settings",
]);

/** Servers may insist on a length for these, even when it is nothing. */
const USUALLY_WITH_BODY: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Latin-1 text, the empty line included. Throws an `UpstreamError` for what must not go on the wire. */
export function requestHead(request: UpstreamMessage, authority: string): string {
  const { method, target, headers, isUpgrade } = request;
  if (!TOKEN.test(method) || method === "CONNECT") throw refused("the method is not one that can be sent");
  if (!TARGET.test(target)) throw refused("the request target is not a path, or has characters that cannot be sent");
  let head = `${method} ${target} HTTP/1.1\r\nHost: ${authority}\r\n`;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1];
    if (!TOKEN.test(name)) throw refused("a header's name has characters that cannot be sent");
    if (value === undefined || NOT_IN_VALUE.test(value)) {
      throw refused(`the value of the header ${name} has characters that cannot be sent`);
    }
    const key = name.toLowerCase();
    if (OURS.has(key) && !(key === "upgrade" && isUpgrade)) continue;
    head += `${name}: ${value}\r\n`;
  }
  if (isUpgrade) head += "Connection: Upgrade\r\n";
  return `${head}${framing(request)}\r\n`;
}

function framing({ method, body, contentLength }: UpstreamMessage): string {
  if (body === undefined) return USUALLY_WITH_BODY.has(method) ? "Content-Length: 0\r\n" : "";
  if (contentLength === undefined) return "Transfer-Encoding: chunked\r\n";
  if (!Number.isSafeInteger(contentLength) || contentLength < 0) throw refused("the body's length is not a length");
  return `Content-Length: ${contentLength}\r\n`;
}

function refused(message: string): UpstreamError {
  return new UpstreamError("malformed", message, { isSent: false });
}
