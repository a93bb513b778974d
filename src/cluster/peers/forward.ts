/**
 * Sends a request to one of several peers (one hop), so that at most one peer executes a write. After something was
 * sent, only a read is retried on another peer. A write is retried only if nothing was sent, or if the peer reported
 * that it did nothing.
 */
import { must } from "../../base/assert.ts";
import type { WithUser } from "../../access/auth/user.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { randomInteger, randomUuid, type Random } from "../../base/random.ts";
import { discardResponse } from "../../serving/http/closed-sink.ts";
import { isLongRunning } from "../../serving/http/filters/request-info.ts";
import { headerValue, type ApiResponse, type RequestBody } from "../../serving/http/message.ts";
import {
  UpstreamError,
  type Upstream,
  type UpstreamAddress,
  type UpstreamResponse,
} from "../../serving/http/upstream.ts";
import { rejectUnlessCommittable } from "../../meta/commit-condition.ts";
import { type StatusError, tooManyRequests } from "../../meta/status-error.ts";
import { SERVED_BY_ANNOTATION } from "../../serving/http/audit-trail.ts";
import { responseHeader, isUpgrade } from "../../serving/http/forwarded.ts";
import { peerResponseHeaders, hopHeaders, NOT_SERVED_HEADER, SERVED_BY_HEADER } from "./hop.ts";
import { openHopBody, type HopBody } from "./hop-body.ts";
import { isNotServedResponse } from "./not-served-response.ts";
import type { ProxyErrorType, ProxyMetrics } from "./proxy-metrics.ts";
import { failureInWords } from "./failure-in-words.ts";
import { serviceUnavailableBecause, type ProxyUnavailability } from "./unavailable-responses.ts";
import type { PeerRoute } from "./route.ts";
import type { ClusterView, PeerView } from "./view.ts";

/** Serves the request on the local server with this body. */
type ServeLocally = (body: RequestBody) => Promise<ApiResponse>;
/**
 * If `here` is given, the local server is the last candidate: it serves a read after all attempts have failed, and a
 * write if no peer can have executed it. It also serves the request if too many requests to peers are in flight.
 */
export type Forward = (
  request: WithUser,
  route: PeerRoute,
  view: ClusterView,
  here?: ServeLocally,
) => Promise<ApiResponse>;

interface ForwardOptions {
  readonly upstream: Upstream;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: ProxyMetrics;
  readonly requestsInflightMax: number;
  /**
   * Called for each response (`onResponse`) and each failed connection (`onMiss`). Together with probes, they determine
   * whether the peer is reachable.
   */
  readonly onResponse: (peerId: string) => void;
  readonly onMiss: (peerId: string, error: UpstreamError) => void;
}

/** Maximum number of peers that are tried for one request. */
const ATTEMPTS_MAX = 4;
const RETRY_AFTER_SECONDS = 1;
const HOP_FAILED = "Error while proxying request to destination apiserver";

type Attempt =
  /** `isBusy` means that the peer responded with 503 to a read, so that another peer may serve it. */
  | { readonly kind: "answer"; readonly response: UpstreamResponse; readonly isBusy: boolean }
  | {
      readonly kind: "failed";
      readonly type: ProxyErrorType;
      readonly why: string;
      readonly mayRetry: boolean;
      /** True if the peer may have executed the request although the attempt failed. */
      readonly isUndecided?: boolean;
    };

export function createForward(options: ForwardOptions): Forward {
  let inFlight = 0;
  return async (request, route, view, here) => {
    const isCounted = !isLongRunning(request.info);
    if (isCounted && inFlight >= options.requestsInflightMax) {
      options.metrics.failed("overloaded", request.info);
      if (here !== undefined) return here(request.body);
      throw tooManyRequests("too many requests to peer API servers are in flight, please try again later", 1);
    }
    if (isCounted) inFlight++;
    let outcome: ApiResponse | RequestBody;
    try {
      outcome = await forwardOnce(options, { request, route, view, hasFallback: here !== undefined });
    } finally {
      if (isCounted) inFlight--;
    }
    return "status" in outcome ? outcome : must(here, "a body is returned only if there is a fallback")(outcome);
  };
}

interface Hop {
  readonly request: WithUser;
  readonly route: PeerRoute;
  readonly view: ClusterView;
  readonly hasFallback: boolean;
}

/**
 * Returns the response. If no peer has executed the request and the local server can serve it, returns the request body
 * instead.
 */
async function forwardOnce(options: ForwardOptions, hop: Hop): Promise<ApiResponse | RequestBody> {
  const { request, route, view, hasFallback } = hop;
  const { metrics, random } = options;
  const auditId = request.audit?.id ?? headerValue(request.headers, "audit-id") ?? randomUuid(random);
  const headers = hopHeaders(request, auditId, view.self.id);
  const body = await openHopBody(request.body, headerValue(request.headers, "content-length"));
  const peers = inRandomOrder(route.candidates, random).slice(0, ATTEMPTS_MAX);
  let rejection: ProxyUnavailability | undefined;
  for (const peer of peers) {
    const attempt = await tryPeer(options, hop, { peer, headers, body });
    if (attempt.kind === "answer") {
      if (attempt.isBusy && (peer !== peers.at(-1) || (hasFallback && body.isRepeatable))) {
        discardResponse(attempt.response);
        continue;
      }
      metrics.rerouted(attempt.response.status, request.info);
      request.audit?.annotate(SERVED_BY_ANNOTATION, peer.calledAt ?? peer.id);
      return toResponse(attempt.response, peer, route);
    }
    metrics.failed(attempt.type, request.info);
    options.log.debug("proxying failed", { peer: peer.id, path: request.path, why: attempt.why });
    const retryAfterSeconds = attempt.isUndecided === true ? undefined : RETRY_AFTER_SECONDS;
    rejection = { rule: route.rule, peerId: peer.id, retryAfterSeconds, reason: attempt.why };
    if (!attempt.mayRetry || request.signal.aborted) throw hopFailed(rejection, hop, metrics);
  }
  if (hasFallback && body.isRepeatable) return body.unsent();
  throw hopFailed(must(rejection, "a route has candidates, and each was tried"), hop, metrics);
}

function hopFailed(refusal: ProxyUnavailability, { request, view }: Hop, metrics: ProxyMetrics): StatusError {
  metrics.rerouted(503, request.info);
  const reason = `${HOP_FAILED} ${refusal.peerId}: ${refusal.reason}`;
  return serviceUnavailableBecause({ ...refusal, reason }, request.info, view.self.id);
}

interface Target {
  readonly peer: PeerView;
  readonly headers: readonly string[];
  readonly body: HopBody;
}

async function tryPeer(options: ForwardOptions, hop: Hop, { peer, headers, body }: Target): Promise<Attempt> {
  const { address } = peer;
  const { request, view } = hop;
  if (address === undefined)
    return { kind: "failed", type: "endpoint_resolution", why: "its address is unknown", mayRetry: true };
  const startedAt = options.clock.monotonic();
  if (request.condition !== undefined && !changesNothing(request)) rejectUnlessCommittable(request.condition);
  let response: UpstreamResponse;
  try {
    response = await send(options.upstream, request, { address, headers, body });
  } catch (thrown) {
    if (!(thrown instanceof UpstreamError)) throw thrown;
    return failedAttempt(options, thrown, { peer, request, body });
  }
  options.onResponse(peer.id);
  options.metrics.latency(peer.id).observe((options.clock.monotonic() - startedAt) / 1000);
  return judge(response, { request, peer, selfId: view.self.id, isRepeatable: body.isRepeatable });
}

function send(
  upstream: Upstream,
  request: WithUser,
  to: { readonly address: UpstreamAddress; readonly headers: readonly string[]; readonly body: HopBody },
): Promise<UpstreamResponse> {
  return upstream.send({
    address: to.address,
    method: request.method,
    target: request.rawQuery === "" ? request.path : `${request.path}?${request.rawQuery}`,
    headers: to.headers,
    body: to.body.open(),
    contentLength: to.body.length,
    isUpgrade: isUpgrade(request),
    signal: request.signal,
  });
}

function failedAttempt(
  options: ForwardOptions,
  error: UpstreamError,
  { peer, request, body }: { readonly peer: PeerView; readonly request: WithUser; readonly body: HopBody },
): Attempt {
  const { failure, isSent } = error;
  if (failure === "connect" || failure === "tls" || failure === "timeout") options.onMiss(peer.id, error);
  const isUndecided = isSent && !changesNothing(request);
  const mayRetry = failure !== "aborted" && body.isRepeatable && !isUndecided;
  return { kind: "failed", type: failure, why: failureInWords(error), mayRetry, isUndecided };
}

interface Judging {
  readonly request: WithUser;
  readonly peer: PeerView;
  readonly selfId: string;
  readonly isRepeatable: boolean;
}

/**
 * Recognizes responses that must not reach the client: the peer does not serve the resource, is this server itself,
 * rejects the credentials of this server, or redirects.
 */
function judge(response: UpstreamResponse, { request, selfId, isRepeatable }: Judging): Attempt {
  const notServedBy = responseHeader(response, NOT_SERVED_HEADER);
  // Behind the subresource `proxy` a pod, service or node responds, and its 404, 401 and redirects are meant for the
  // client.
  const isPeersOwn = request.info.subresource !== "proxy";
  if (notServedBy === undefined && !isPeersOwn) return { kind: "answer", response, isBusy: false };
  if (notServedBy !== undefined || isNotServedResponse(response)) {
    discardResponse(response);
    const why =
      notServedBy === selfId ? "its address leads to this server itself" : "it does not serve the resource either";
    return { kind: "failed", type: "not_served", why, mayRetry: isRepeatable };
  }
  // The local server has already authenticated the user, so the peer rejects the credentials of the local server.
  if (response.status === 401) {
    discardResponse(response);
    const why = "it rejects the proxy credentials of this server: check --requestheader-client-ca-file on the peer";
    return { kind: "failed", type: "proxy_transport", why, mayRetry: isRepeatable };
  }
  if (response.status >= 300 && response.status < 400 && response.status !== 304) {
    discardResponse(response);
    // The peer may have executed the write: 303 is the response to a completed POST.
    const isUndecided = !changesNothing(request);
    const mayRetry = isRepeatable && !isUndecided;
    return { kind: "failed", type: "redirect", why: "it responded with a redirect", mayRetry, isUndecided };
  }
  return { kind: "answer", response, isBusy: response.status === 503 && changesNothing(request) };
}

/**
 * Whether the request is a read. An upgrade is a GET as well, but its connection may change anything, as `exec` does.
 */
function changesNothing(request: WithUser): boolean {
  return (request.method === "GET" || request.method === "HEAD") && !isUpgrade(request);
}

function toResponse(response: UpstreamResponse, peer: PeerView, route: PeerRoute): ApiResponse {
  const what = [peer.kube && "kube-apiserver", peer.release].filter((word) => word !== undefined).join(" ");
  const servedBy = `${peer.calledAt ?? peer.id} (${what}); reason=${route.rule}`;
  return {
    status: response.status,
    headers: { ...peerResponseHeaders(response), [SERVED_BY_HEADER]: servedBy },
    body: response.body,
  };
}

/** Shuffles each tier. A later tier comes after all peers of the earlier ones. */
function inRandomOrder(tiers: readonly (readonly PeerView[])[], random: Random): PeerView[] {
  return tiers.flatMap((tier) => {
    const order = [...tier];
    for (let index = order.length - 1; index > 0; index--) {
      const other = randomInteger(random, index + 1);
      [order[index], order[other]] = [order[other]!, order[index]!];
    }
    return order;
  });
}
