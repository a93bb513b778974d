/** Serializes requests as HTTP/1.1 text. */
import { NUMBER_MARK } from "../objects.ts";
import type { RequestShape } from "./protocol.ts";

export function requestBytes(request: RequestShape, number: number, token: string): string {
  const path = numbered(request.path, number);
  const credentials = token === "" ? "" : `authorization: Bearer ${token}\r\n`;
  const head = `${request.method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${credentials}accept: ${request.accept ?? "application/json"}\r\nuser-agent: evenkeel-bench\r\n${request.asksIfReady === true ? "x-kubernetes-if-ready:\r\n" : ""}`;
  if (request.body === undefined) return `${head}\r\n`;
  const body = numbered(request.body, number);
  return `${head}content-type: ${request.contentType ?? "application/json"}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Replaces the mark `@@@@@@@@` by a number of eight digits, so that all requests have the same size. */
export function numbered(text: string, number: number): string {
  return text.includes(NUMBER_MARK)
    ? text.replaceAll(NUMBER_MARK, String(number).padStart(NUMBER_MARK.length, "0"))
    : text;
}
