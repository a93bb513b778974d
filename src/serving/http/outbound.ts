/**
 * Requests to servers outside of this cluster's own set, such as aggregated API servers and webhooks: the port that
 * real sockets (serving/http/node/upstream/) and the simulated network implement. The guarantees of
 * serving/http/upstream.ts hold here too. In addition, each target names the server name and the CA bundle that its
 * certificate must match.
 */
import type { Clock } from "../../base/clock.ts";
import { sendOwnRequest, type OwnRequest, type WholeResponse } from "./own-request.ts";
import { UpstreamError, type UpstreamAddress, type UpstreamMessage, type UpstreamResponse } from "./upstream.ts";

export interface Outbound {
  send(request: OutboundRequest): Promise<UpstreamResponse>;
  /** Breaks off open requests and rejects new ones. */
  close(): Promise<void>;
}

export interface OutboundRequest extends UpstreamMessage {
  readonly to: OutboundTarget;
}

/** Connections are shared by targets that are equal, member by member. */
export interface OutboundTarget {
  readonly address: UpstreamAddress;
  /** The name that the certificate must be valid for. For a Service: SERVICE.NAMESPACE.svc */
  readonly serverName: string;
  /** PEM of the only CAs that may have signed the certificate. Undefined: the CAs that the system trusts. */
  readonly caBundle: string | undefined;
  /** If true, the certificate is not verified. */
  readonly insecureSkipTlsVerify: boolean;
  /** If true, this server presents its client certificate, so that it can act on behalf of its users. */
  readonly presentsClientCertificate: boolean;
}

export function serviceServerName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${name}.${namespace}.svc`;
}

export interface OutboundQuestion extends OwnRequest {
  readonly to: OutboundTarget;
}

export interface OutboundResponse extends WholeResponse {
  /** Throws an `UpstreamError` if the body is not JSON. */
  json(): unknown;
}

export interface OutboundCaller {
  readonly outbound: Outbound;
  readonly clock: Clock;
}

/** Returns the whole response, whatever its status. Rejects with `UpstreamError`s only. */
export async function requestOutbound(
  { outbound, clock }: OutboundCaller,
  { to, ...question }: OutboundQuestion,
): Promise<OutboundResponse> {
  const response = await sendOwnRequest(question, clock, (message) => outbound.send({ ...message, to }));
  return { ...response, json: () => parsed(response.body) };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch (thrown) {
    throw new UpstreamError("malformed", "the response is not JSON", { isSent: true, cause: thrown });
  }
}
