/**
 * Parses the head of a response strictly: if two parsers disagree about where a response ends, a response can reach the
 * wrong reader. So a head that is ambiguous in any way is malformed, and its connection is not reused.
 */
import { UpstreamError } from "../../upstream.ts";
import { HEADERS_MAX } from "./upstream-limits.ts";

export interface ResponseHead {
  readonly status: number;
  /** Alternating names (in lower case) and values, without headers that concern only this connection. */
  readonly headers: readonly string[];
  readonly framing: Framing;
  /** The length of the body; 0 unless the framing is `length`. */
  readonly contentLength: number;
  /** True if the server accepts another request on this connection. */
  readonly isReusable: boolean;
  /** Time for which the server keeps the idle connection, if it announces one. */
  readonly reusableMs: number | undefined;
}

type Framing = "none" | "length" | "chunked" | "until-close";

/** The facts about a request on which the parsing of its response depends. */
export interface RequestFacts {
  readonly isHead: boolean;
  readonly isUpgrade: boolean;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
/** A length of up to fifteen digits, which a number represents exactly. */
const LENGTH = /^\d{1,15}$/;
const KEEP_ALIVE_TIMEOUT = /(?:^|[,;\s])timeout=(\d{1,6})(?:$|[,;\s])/i;

interface Fields {
  headers: string[];
  contentLength: string | undefined;
  transferEncoding: string | undefined;
  connection: string | undefined;
  keepAlive: string | undefined;
  upgrade: string | undefined;
}

/** `text` is the head without the empty line at its end. */
export function parseResponseHead(text: string, requestFacts: RequestFacts): ResponseHead {
  const firstEnd = lineEnd(text, 0);
  const statusLine = STATUS_LINE.exec(text.slice(0, firstEnd));
  if (statusLine === null) throw malformed("the status line is not one of HTTP/1.1");
  const status = Number(statusLine[2]);
  const fields = parseFields(text, firstEnd + 2);
  if (status === 101) return switching(fields, requestFacts);
  const framing = decideFraming(fields, { status, isHttp10: statusLine[1] === "0", asked: requestFacts });
  if (requestFacts.isHead && fields.contentLength !== undefined) {
    fields.headers.push("content-length", fields.contentLength);
  }
  return {
    status,
    headers: withoutNominated(fields),
    framing,
    contentLength: framing === "length" ? Number(fields.contentLength) : 0,
    isReusable: framing !== "until-close" && !closes(fields.connection, statusLine[1] === "0"),
    reusableMs: reusableMs(fields.keepAlive),
  };
}

function parseFields(text: string, start: number): Fields {
  const fields: Fields = {
    headers: [],
    contentLength: undefined,
    transferEncoding: undefined,
    connection: undefined,
    keepAlive: undefined,
    upgrade: undefined,
  };
  let count = 0;
  for (let at = start; at < text.length;) {
    if (++count > HEADERS_MAX) throw malformed(`it has more than ${HEADERS_MAX} headers`);
    const end = lineEnd(text, at);
    const colon = text.indexOf(":", at);
    if (colon < 0 || colon > end) throw malformed("a header has no colon");
    const name = text.slice(at, colon).toLowerCase();
    const value = trimmed(text, colon + 1, end);
    // This check also rejects a space before the colon, and folded lines.
    if (!TOKEN.test(name)) throw malformed("a header name has invalid characters");
    if (NOT_IN_VALUE.test(value)) throw malformed("a header value has control characters");
    addField(fields, name, value);
    at = end + 2;
  }
  return fields;
}

function addField(fields: Fields, name: string, value: string): void {
  switch (name) {
    case "content-length":
      if (!LENGTH.test(value) || (fields.contentLength ?? value) !== value) throw malformed("its length is ambiguous");
      fields.contentLength = value;
      return;
    case "transfer-encoding":
      fields.transferEncoding = appended(fields.transferEncoding, value);
      return;
    case "connection":
      fields.connection = appended(fields.connection, value.toLowerCase());
      return;
    case "keep-alive":
      fields.keepAlive = value;
      return;
    case "upgrade":
      fields.upgrade = value;
      return;
    case "te":
    case "trailer":
      return;
    default:
      if (!name.startsWith("proxy-")) fields.headers.push(name, value);
  }
}

interface FramingFacts {
  readonly status: number;
  readonly isHttp10: boolean;
  readonly asked: RequestFacts;
}

function decideFraming(fields: Fields, { status, isHttp10, asked }: FramingFacts): Framing {
  const { contentLength, transferEncoding } = fields;
  if (transferEncoding !== undefined) {
    if (contentLength !== undefined) throw malformed("it has both a length and a transfer encoding");
    if (isHttp10 || transferEncoding.toLowerCase() !== "chunked") throw malformed("its transfer encoding is unknown");
  }
  if (asked.isHead || status < 200 || status === 204 || status === 304) return "none";
  if (transferEncoding !== undefined) return "chunked";
  if (contentLength !== undefined) return "length";
  // Node does not report whether TLS was closed properly, so a complete response that ends with its connection cannot
  // be distinguished from a truncated one. Servers use this framing only for plain-text error responses to requests
  // that they could not parse.
  if (status < 400) throw malformed("it does not indicate where it ends");
  return "until-close";
}

/** Parses a 101 response. The bytes after it belong to the other protocol. */
function switching(fields: Fields, asked: RequestFacts): ResponseHead {
  if (!asked.isUpgrade) throw malformed("it switches protocols without being asked");
  if (fields.upgrade !== undefined) fields.headers.push("upgrade", fields.upgrade);
  const headers = withoutNominated(fields);
  return { status: 101, headers, framing: "none", contentLength: 0, isReusable: false, reusableMs: undefined };
}

function closes(connection: string | undefined, isHttp10: boolean): boolean {
  if (connection === undefined) return isHttp10;
  const options = listOf(connection);
  return options.includes("close") || (isHttp10 && !options.includes("keep-alive"));
}

/** Removes the headers that `Connection` names, which concern only this connection. */
function withoutNominated({ headers, connection }: Fields): readonly string[] {
  if (connection === undefined || connection === "keep-alive" || connection === "close") return headers;
  const nominated = new Set(listOf(connection));
  nominated.delete("upgrade");
  if (nominated.size === 0) return headers;
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    if (!nominated.has(headers[index]!)) kept.push(headers[index]!, headers[index + 1]!);
  }
  return kept;
}

function reusableMs(keepAlive: string | undefined): number | undefined {
  if (keepAlive === undefined) return undefined;
  const seconds = KEEP_ALIVE_TIMEOUT.exec(keepAlive)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

function listOf(value: string): string[] {
  return value.split(",").map((option) => option.trim());
}

function appended(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before},${value}`;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\r\n", from);
  return end < 0 ? text.length : end;
}

/** Removes white space of HTTP. `trim` would also remove other characters. */
function trimmed(text: string, start: number, end: number): string {
  let from = start;
  let to = end;
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** The error is reported as sent, because the server responds only to a request that it has received. */
export function malformed(problem: string): UpstreamError {
  return new UpstreamError("malformed", `malformed response: ${problem}`, { isSent: true });
}
