/** Requests and responses for tests of filters and handlers. */
import type { WithInfo } from "../../../../src/serving/http/filters/request-info.ts";
import { NO_CLAIMS } from "../../../../src/serving/http/filters/strip-identity.ts";
import type { ApiRequest, ApiResponse, RequestHeaders } from "../../../../src/serving/http/message.ts";
import { Query } from "../../../../src/serving/http/query.ts";
import { EMPTY_BODY } from "../../../../src/serving/http/request-body.ts";
import { parseRequestInfo } from "../../../../src/serving/http/request-info.ts";

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

/** A request as it is after the filter that parses the request info. */
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
