/**
 * Turns 404 and 403 into 503 until the server has been ready for the first time. Before that, routes, authorization
 * data, CRDs and the discovery documents of peers may be missing, so a 404 or 403 could be wrong. This also protects
 * clients that do not send X-Kubernetes-If-Ready. All data on which a 404 or 403 can depend must be part of the
 * readiness checks.
 */
import { isJsonObject } from "../../../meta/json.ts";
import { serviceUnavailable, StatusError } from "../../../meta/status-error.ts";
import type { Handler, PassingFilter } from "../chain.ts";
import { discardResponse } from "../closed-sink.ts";
import { headerValue, type ApiResponse } from "../message.ts";
import { isExempt, type Starting } from "./if-ready.ts";
import type { WithInfo } from "./request-info.ts";

export interface EarlyRequest extends WithInfo {
  /**
   * True if a peer proxied the request. A peer can distinguish the 404 of an object from the 404 of a resource that is
   * not served here.
   */
  readonly isProxied: boolean;
}

interface NotReadyOptions extends Starting {
  /**
   * True for responses that do not depend on the data that this server has loaded, such as that of a pod that a peer
   * has proxied. They pass unchanged.
   */
  readonly isFromAnotherServer: (request: WithInfo, response: ApiResponse) => boolean;
}

/** As kubernetes util/notfoundhandler/not_found_handler.go. */
const NO_PATH_YET = "the request has been made before all known HTTP paths have been installed, please try again";
const NOT_SURE_YET = "this server is still starting and has not loaded all data yet";

export function notReadyResponses(options: NotReadyOptions): PassingFilter<EarlyRequest> {
  return (next) => (request) =>
    // Readiness is checked when the request arrives, because a handler that began before readiness may have read
    // incomplete data.
    options.hasBeenReady() || isExempt(request, options) ? next(request) : respondBeforeReady(options, next, request);
}

async function respondBeforeReady<Req extends EarlyRequest>(
  options: NotReadyOptions,
  next: Handler<Req>,
  request: Req,
): Promise<ApiResponse> {
  let response: ApiResponse;
  try {
    response = await next(request);
  } catch (thrown) {
    const denial = thrown instanceof StatusError ? denialOf(thrown.code, thrown) : undefined;
    throw denial === undefined || isForServers(request, denial) ? thrown : instead(denial, options);
  }
  if (options.isFromAnotherServer(request, response)) return response;
  const denial = denialIn(response);
  if (denial === undefined || isForServers(request, denial)) return response;
  discardResponse(response);
  throw instead(denial, options);
}

interface Denial {
  /** True if this server does not serve the path; false if one object is absent or access is denied. */
  readonly isOfPath: boolean;
  readonly message: string;
}

/**
 * True if a peer may receive the response: after the 404 of a path it tries the next server of the resource, and it
 * decodes discovery documents itself.
 */
function isForServers({ isProxied, info }: EarlyRequest, { isOfPath }: Denial): boolean {
  return isProxied && (isOfPath || !info.isResourceRequest);
}

function instead({ isOfPath, message }: Denial, { retryAfterSeconds }: Starting): StatusError {
  const because = message === "" ? NOT_SURE_YET : `${NOT_SURE_YET}: ${message}`;
  return serviceUnavailable(isOfPath ? NO_PATH_YET : because, retryAfterSeconds());
}

function denialIn({ status, headers, body }: ApiResponse): Denial | undefined {
  if (!isDenial(status)) return undefined;
  const isText = headerValue(headers, "content-type")?.startsWith("text/plain") ?? false;
  const said = body.kind === "bytes" && !isText ? parsed(body.chunks) : undefined;
  return isJsonObject(said) ? denialOf(status, said) : { isOfPath: isText && status === 404, message: "" };
}

/** The details contain a name only if the error comes from the endpoint of the resource. */
function denialOf(code: number, said: { readonly message?: unknown; readonly details?: unknown }): Denial | undefined {
  if (!isDenial(code)) return undefined;
  const { message, details } = said;
  const isOfObject = isJsonObject(details) && details["name"] !== undefined;
  return { isOfPath: code === 404 && !isOfObject, message: typeof message === "string" ? message : "" };
}

function isDenial(code: number): boolean {
  return code === 404 || code === 403;
}

/** Returns undefined if the body is not JSON: a peer may have sent arbitrary bytes. */
function parsed(chunks: readonly Buffer[]): unknown {
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return undefined;
  }
}
