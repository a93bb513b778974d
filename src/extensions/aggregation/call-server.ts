/**
 * Requests that this server sends to aggregated servers on its own behalf. It reads the whole (small) response within a
 * deadline.
 */
import type { User } from "../../access/auth/user.ts";
import { requestOutbound, type OutboundResponse, type OutboundCaller } from "../../serving/http/outbound.ts";
import { UpstreamError, type UpstreamAddress } from "../../serving/http/upstream.ts";
import type { RemoteApiService } from "./api-service.ts";
import { identityHeaders } from "../../serving/http/forwarded.ts";
import { GUARD_HEADER } from "./hop-headers.ts";
import { targetOf, type ResolveService } from "./proxy.ts";

/**
 * The user as which this server sends the requests, as in kube-aggregator; the group system:masters may read
 * everything.
 */
const SELF: User = { name: "system:kube-aggregator", uid: "", groups: ["system:masters"], extra: {} };

interface ServerQuestion {
  readonly address: UpstreamAddress;
  /** Path and query of the request. */
  readonly target: string;
  readonly headers?: readonly string[];
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

export type CallServer = (apiService: RemoteApiService, question: ServerQuestion) => Promise<OutboundResponse>;

/** Returns a function that sends a GET to one address. */
export function createCallServer(caller: OutboundCaller): CallServer {
  const own = [...identityHeaders(SELF), "User-Agent", "evenkeel", GUARD_HEADER, "true"];
  return (apiService, { address, headers = [], ...question }) =>
    requestOutbound(caller, {
      ...question,
      to: targetOf(apiService, address),
      method: "GET",
      headers: [...own, ...headers],
    });
}

/** Sends a GET to the endpoints of a Service in turn, until one responds. */
export type CallService = (
  apiService: RemoteApiService,
  question: Omit<ServerQuestion, "address">,
) => Promise<OutboundResponse>;

export function createCallService(ask: CallServer, resolve: ResolveService): CallService {
  return async (apiService, question) => {
    const resolution = resolve(apiService.service);
    if (resolution.kind === "unresolved") throw new Error(resolution.message);
    let failed: unknown;
    for (const address of resolution.addresses) {
      try {
        return await ask(apiService, { ...question, address });
      } catch (thrown) {
        failed = thrown;
        const isWorthAnother = thrown instanceof UpstreamError && !NOT_RETRIED.has(thrown.failure);
        if (!isWorthAnother) break;
      }
    }
    throw failed;
  };
}

/**
 * No other endpoint is tried after one of these failures: after a timeout because the caller would have to wait for a
 * second one, after an abort because the caller no longer waits.
 */
const NOT_RETRIED: ReadonlySet<UpstreamError["failure"]> = new Set(["aborted", "timeout"]);
