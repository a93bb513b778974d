/** Builds every 503 of the proxy: a Status that names the server, the peer, the rule and Retry-After. */
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { StatusError, type StatusCause } from "../../meta/status-error.ts";

export interface ProxyUnavailability {
  readonly rule: string;
  readonly reason: string;
  readonly peerId?: string | undefined;
  /** Undefined if the request may have been executed, because clients retry automatically if Retry-After is set. */
  readonly retryAfterSeconds: number | undefined;
}

export function serviceUnavailableBecause(
  rejection: ProxyUnavailability,
  info: RequestInfo,
  selfId: string,
): StatusError {
  const { rule, reason, peerId, retryAfterSeconds } = rejection;
  const causes: StatusCause[] = [
    { field: "server", message: selfId },
    ...(peerId === undefined ? [] : [{ field: "peer", message: peerId }]),
    { field: "rule", message: rule },
  ];
  return new StatusError("ServiceUnavailable", reason, {
    details: {
      ...(info.name === "" ? {} : { name: info.name }),
      ...(info.group === "" ? {} : { group: info.group }),
      kind: info.resource,
      causes,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  });
}
