/**
 * Indents JSON for browsers, curl and wget, unless the `pretty` parameter of the query or of the Accept header decides
 * otherwise. As kubernetes. Indented JSON ends without a newline.
 */
import type { PassingFilter } from "../chain.ts";
import { bytesBody, headerValue, type ApiRequest, type ApiResponse } from "../message.ts";
import { Query } from "../query.ts";

/**
 * DIFFERS: a body that would become larger than this is not indented, because the indentation of deeply nested JSON
 * grows with the square of its depth.
 */
const BYTES_MAX = 4 * 1024 * 1024;
const READERS: readonly string[] = ["curl", "Wget", "Mozilla/5.0"];
const YES: ReadonlySet<string> = new Set(["1", "t", "T", "true", "TRUE", "True"]);

export function pretty(): PassingFilter<ApiRequest> {
  return (next) => (request) => (wantsPretty(request) ? prettyResponse(request, next(request)) : next(request));
}

async function prettyResponse({ path }: ApiRequest, sent: Promise<ApiResponse>): Promise<ApiResponse> {
  const response = await sent;
  // Documents that are not API objects are never indented, or always.
  const isDocument = path.startsWith("/openapi") || path.startsWith("/.well-known/");
  return isDocument && response.status < 400 ? response : indented(response);
}

function wantsPretty({ rawQuery, headers }: ApiRequest): boolean {
  if (headerValue(headers, "accept")?.includes("pretty=1") === true) return true;
  const asked = rawQuery.includes("pretty") ? (new Query(rawQuery).get("pretty") ?? "") : "";
  if (asked !== "") return YES.has(asked);
  const agent = headerValue(headers, "user-agent") ?? "";
  return READERS.some((reader) => agent.startsWith(reader));
}

function indented(response: ApiResponse): ApiResponse {
  const { status, headers, body } = response;
  if (body.kind !== "bytes" || headerValue(headers, "content-type")?.startsWith("application/json") !== true)
    return response;
  // Latin-1 has one character per byte. All characters that are compared here are ASCII, and the others stay unchanged.
  const lines = indentJson(Buffer.concat(body.chunks).toString("latin1"), BYTES_MAX);
  return lines === undefined ? response : { status, headers, body: bytesBody(Buffer.from(lines, "latin1")) };
}

const SPACE = /[ \t\r\n]/;
const LITERAL_END = /[,:\]}\s]|$/g;

function spaceEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && SPACE.test(text.charAt(at))) at++;
  return at;
}

/**
 * Indents JSON text and keeps numbers as they are written. Returns undefined if the result would have more than
 * `lengthMax` characters.
 */
export function indentJson(text: string, lengthMax: number): string | undefined {
  let [out, depth, at] = ["", 0, 0];
  const newLine = (): string => `\n${"  ".repeat(depth)}`;
  while (at < text.length) {
    if (out.length > lengthMax) return undefined;
    const char = text.charAt(at);
    const start = at++;
    if (char === '"') {
      at = stringEnd(text, start);
      out += text.slice(start, at);
    } else if (char === "{" || char === "[") {
      at = spaceEnd(text, at);
      const isEmpty = text[at] === (char === "{" ? "}" : "]");
      if (!isEmpty) depth++;
      out += isEmpty ? char + text.charAt(at++) : char + newLine();
    } else if (char === "}" || char === "]") {
      depth = Math.max(0, depth - 1);
      out += newLine() + char;
    } else if (char === ",") out += char + newLine();
    else if (char === ":") out += ": ";
    else if (!SPACE.test(char)) {
      LITERAL_END.lastIndex = at;
      at = LITERAL_END.exec(text)!.index;
      out += text.slice(start, at);
    }
  }
  return out;
}

/** Returns the position after the closing quote. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}
