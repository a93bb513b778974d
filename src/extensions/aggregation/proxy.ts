/**
 * The filter that proxies requests for aggregated group versions. `decide.ts` decides, and one endpoint of the Service
 * serves the request. If an endpoint fails after a byte was sent, only read requests are sent to another endpoint, so
 * that at most one server executes a write.
 */
import { must } from "../../base/assert.ts";
import { SERVED_BY_ANNOTATION } from "../../serving/http/audit-trail.ts";
import type { WithUser } from "../../access/auth/user.ts";
import type { Clock } from "../../base/clock.ts";
import { eitherSignal } from "../../base/either-signal.ts";
import type { Log } from "../../base/log.ts";
import { randomUuid, type Random } from "../../base/random.ts";
import type { PassingFilter } from "../../serving/http/chain.ts";
import { discardResponse } from "../../serving/http/closed-sink.ts";
import { headerValue, type ApiResponse, type RequestBody } from "../../serving/http/message.ts";
import { serviceServerName, type Outbound, type OutboundTarget } from "../../serving/http/outbound.ts";
import { jsonResponse } from "../../serving/http/respond.ts";
import { UpstreamError, type UpstreamAddress, type UpstreamResponse } from "../../serving/http/upstream.ts";
import { serviceUnavailable, StatusError, type Status } from "../../meta/status-error.ts";
import type { ServiceReference, Resolution } from "../../access/webhook-client/service-resolver.ts";
import type { RemoteApiService } from "./api-service.ts";
import { decideAggregation, type FindApiService } from "./decide.ts";
import { isUpgrade } from "../../serving/http/forwarded.ts";
import { GUARD_HEADER, aggregatedResponseHeaders, aggregatedRequestHeaders } from "./hop-headers.ts";

export type ResolveService = (service: ServiceReference) => Resolution;

interface AggregationProxyOptions {
  readonly find: FindApiService;
  readonly resolve: ResolveService;
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called if no endpoint could be reached, because the APIService may have become unavailable. */
  readonly onUnreachable: (apiServiceName: string) => void;
}

/** As kubernetes: if discovery of a group version does not respond within this time, the request fails. */
const DISCOVERY_MS = 5_000;
const RETRY_AFTER_SECONDS = 1;
const ATTEMPTS_MAX = 3;
const REDIRECT_REJECTED = "the backend attempted to redirect this request, which is not permitted";

export function aggregationProxy(options: AggregationProxyOptions): PassingFilter<WithUser> {
  return (next) => (request) => {
    const decision = decideAggregation(request.info, options.find, request.headers[GUARD_HEADER] !== undefined);
    switch (decision.kind) {
      case "pass":
        return next(request);
      case "unavailable":
        return Promise.reject(serviceUnavailable(decision.message, RETRY_AFTER_SECONDS));
      case "proxy":
        return forward(options, request, decision.apiService);
    }
  };
}

/** Returns the target for this address, with the TLS settings of the APIService. */
export function targetOf(apiService: RemoteApiService, address: UpstreamAddress): OutboundTarget {
  const { service, caBundle, insecureSkipTlsVerify } = apiService;
  const serverName = serviceServerName(service);
  return { address, serverName, caBundle, insecureSkipTlsVerify, presentsClientCertificate: true };
}

async function forward(
  options: AggregationProxyOptions,
  request: WithUser,
  apiService: RemoteApiService,
): Promise<ApiResponse> {
  const resolution = options.resolve(apiService.service);
  if (resolution.kind === "unresolved") {
    options.log.debug("failed to resolve the service of an APIService", {
      apiService: apiService.name,
      why: resolution.message,
    });
    options.onUnreachable(apiService.name);
    throw serviceUnavailable("service unavailable", RETRY_AFTER_SECONDS);
  }
  const auditId = request.audit?.id ?? headerValue(request.headers, "audit-id") ?? randomUuid(options.random);
  const headers = aggregatedRequestHeaders(request, auditId);
  const body = new PassingBody(request.body);
  const addresses = resolution.addresses.slice(0, ATTEMPTS_MAX);
  let failed: UpstreamError | undefined;
  for (const address of addresses) {
    try {
      const response = await send(options, request, { to: targetOf(apiService, address), headers, body });
      request.audit?.annotate(SERVED_BY_ANNOTATION, `${apiService.name} at ${address.host}:${address.port}`);
      return judged(response, request);
    } catch (thrown) {
      if (!(thrown instanceof UpstreamError)) throw thrown;
      failed = thrown;
      const { failure, isSent, message } = thrown;
      options.log.debug("failed to proxy a request to an aggregated server", {
        apiService: apiService.name,
        why: message,
      });
      if (failure === "aborted" || body.isTouched || (isSent && !isReadOnly(request))) break;
    }
  }
  if (!request.signal.aborted) options.onUnreachable(apiService.name);
  throw unreachable(must(failed, "a resolved service has addresses, and each was tried"), request);
}

interface Attempt {
  readonly to: OutboundTarget;
  readonly headers: readonly string[];
  readonly body: PassingBody;
}

async function send(
  { outbound, clock }: AggregationProxyOptions,
  request: WithUser,
  { to, headers, body }: Attempt,
): Promise<UpstreamResponse> {
  const { signal, cancel } = discoveryDeadline(request, clock);
  const { host, port } = to.address;
  const length = headerValue(request.headers, "content-length");
  try {
    return await outbound.send({
      to,
      method: request.method,
      target: request.rawQuery === "" ? request.path : `${request.path}?${request.rawQuery}`,
      headers: [...headers, "X-Forwarded-Host", host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`],
      body: body.open(),
      contentLength: length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined,
      isUpgrade: isUpgrade(request),
      signal,
    });
  } finally {
    cancel();
  }
}

/** A deadline for discovery requests only. It applies until the headers of the response arrive. */
function discoveryDeadline(
  { info, signal }: WithUser,
  clock: Clock,
): { readonly signal: AbortSignal; readonly cancel: () => void } {
  if (info.isResourceRequest) return { signal, cancel: () => undefined };
  const late = new AbortController();
  return { signal: eitherSignal(signal, late.signal), cancel: clock.after(DISCOVERY_MS, () => late.abort()) };
}

function judged(response: UpstreamResponse, request: WithUser): ApiResponse {
  const { status } = response;
  const headers = aggregatedResponseHeaders(response);
  if (isUpgrade(request) && status !== 101 && status < 400) {
    discardResponse(response);
    throw serviceUnavailable(`invalid upgrade response: status code ${status}`, RETRY_AFTER_SECONDS);
  }
  if (status >= 300 && status < 400 && status !== 304) {
    discardResponse(response);
    return redirectRejected();
  }
  return { status, headers, body: response.body };
}

// DIFFERS: kube-apiserver responds in plain text, and passes on redirects that have no Location header.
function redirectRejected(): ApiResponse {
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: REDIRECT_REJECTED,
    code: 502,
  };
  return jsonResponse(502, status);
}

/**
 * Returns the error for the client. It has no Retry-After if a write may have been executed, because clients
 * automatically retry a response with Retry-After.
 */
function unreachable({ isSent, message }: UpstreamError, request: WithUser): StatusError {
  const said = `error trying to reach service: ${message}`;
  if (isSent && !isReadOnly(request)) return new StatusError("ServiceUnavailable", said);
  return serviceUnavailable(said, RETRY_AFTER_SECONDS);
}

/** An upgrade is also a GET, but its connection can carry writes. */
function isReadOnly(request: WithUser): boolean {
  return (request.method === "GET" || request.method === "HEAD") && !isUpgrade(request);
}

/** Streams the request body to an endpoint as it arrives. The body is not read before the connection is open. */
class PassingBody {
  isTouched = false;
  readonly #body: RequestBody;

  constructor(body: RequestBody) {
    this.#body = body;
  }

  open(): AsyncIterable<Buffer> | undefined {
    return this.#body.isEmpty ? undefined : this.#pieces();
  }

  async *#pieces(): AsyncGenerator<Buffer, void, undefined> {
    this.isTouched = true;
    yield* this.#body.stream();
  }
}
