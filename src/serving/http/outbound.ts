/**
 * The port for requests to servers that are not API servers of this cluster, such as aggregated API servers and
 * webhooks. serving/http/node/upstream/ and the simulated network implement it. It has the guarantees of
 * serving/http/upstream.ts; in addition, each target names the server name and the CA bundle that the certificate of
 * the server must match.
 */
import type { Clock } from "../../base/clock.ts";
import { sendOwnRequest, type OwnRequest, type WholeResponse } from "./own-request.ts";
import { UpstreamError, type UpstreamAddress, type UpstreamMessage, type UpstreamResponse } from "./upstream.ts";

export interface Outbound {
  send(request: OutboundRequest): Promise<UpstreamResponse>;
  /** Breaks off open requests and rejects new requests. */
  close(): Promise<void>;
}

export interface OutboundRequest extends UpstreamMessage {
  readonly to: OutboundTarget;
}

/** The server that is called. Targets with equal fields share connections. */
export interface OutboundTarget {
  readonly address: UpstreamAddress;
  /** The name for which the certificate must be valid. For a Service, it is SERVICE.NAMESPACE.svc. */
  readonly serverName: string;
  /**
   * PEM of the only CAs that may have signed the certificate. If undefined, these are the CAs that the system trusts.
   */
  readonly caBundle: string | undefined;
  /** If true, the certificate is not verified. */
  readonly insecureSkipTlsVerify: boolean;
  /** True if this server presents its client certificate, so that it can act on behalf of its users. */
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
