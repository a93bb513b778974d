/** Requests and answers for tests of filters and handlers. */
import type { WithInfo } from "../filters/request-info.ts";
import { NO_CLAIMS } from "../filters/strip-identity.ts";
import type { ApiRequest, ApiResponse, RequestHeaders } from "../message.ts";
import { Query } from "../query.ts";
import { EMPTY_BODY } from "../request-body.ts";
import { parseRequestInfo } from "../request-info.ts";

export interface RequestOptions {
  readonly method?: string;
  /** Path and query. */
  readonly url?: string;
  readonly headers?: RequestHeaders;
}

export function apiRequest({ method = "GET", url = "/", headers = {} }: RequestOptions = {}): ApiRequest {
  const [path = "", rawQuery = ""] = url.split("?");
  return {
    method,
    path,
    rawQuery,
    headers,
    body: EMPTY_BODY,
    connection: { protocol: "in-process", remoteAddress: "", clientChain: [] },
    signal: new AbortController().signal,
  };
}

/** As it looks behind the request-info filter. */
export function infoRequest(options: RequestOptions = {}): WithInfo {
  const request = apiRequest(options);
  const query = new Query(request.rawQuery);
  const info = parseRequestInfo(request.method, request.path, query);
  if (info === undefined) throw new Error("the path cannot be decoded");
  return { ...request, claims: NO_CLAIMS, query, info };
}

export function bodyJson({ body }: ApiResponse): unknown {
  return body.kind === "bytes" ? JSON.parse(Buffer.concat(body.chunks).toString("utf8")) : undefined;
}
