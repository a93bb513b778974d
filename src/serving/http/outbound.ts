/**
 * How requests reach servers that are not of this cluster's own set, such as aggregated API servers and webhooks: the
 * port that real sockets (serving/http/node/upstream/) and the simulated network implement. What serving/http/upstream.ts guarantees
 * holds here too; besides, each target says whom it must prove to be and who may vouch for it.
 */
import type { Clock } from "../../base/clock.ts";
import { sendOwnRequest, type OwnRequest, type WholeResponse } from "./ask.ts";
import { UpstreamError, type UpstreamAddress, type UpstreamMessage, type UpstreamResponse } from "./upstream.ts";

export interface Outbound {
  send(request: OutboundRequest): Promise<UpstreamResponse>;
  /** Breaks off what is under way, and refuses what comes. */
  close(): Promise<void>;
}

export interface OutboundRequest extends UpstreamMessage {
  readonly to: OutboundTarget;
}

/** Connections are shared by targets that are equal, member by member. */
export interface OutboundTarget {
  readonly address: UpstreamAddress;
  /** What its certificate must be for. Of a service: SERVICE.NAMESPACE.svc */
  readonly serverName: string;
  /** PEM of who may have signed its certificate, and nobody else. Undefined: whom the system trusts. */
  readonly caBundle: string | undefined;
  /** Whoever answers is believed. */
  readonly insecureSkipTlsVerify: boolean;
  /** This server proves who it is, so that it can speak for its users. */
  readonly presentsClientCertificate: boolean;
}

export function serviceServerName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${name}.${namespace}.svc`;
}

export interface OutboundQuestion extends OwnRequest {
  readonly to: OutboundTarget;
}

export interface OutboundAnswer extends WholeResponse {
  /** Throws an `UpstreamError` for what is not JSON. */
  json(): unknown;
}

export interface OutboundCaller {
  readonly outbound: Outbound;
  readonly clock: Clock;
}

/** The whole answer, whatever its status. Rejects with `UpstreamError`s only. */
export async function askOutbound(
  { outbound, clock }: OutboundCaller,
  { to, ...question }: OutboundQuestion,
): Promise<OutboundAnswer> {
  const answer = await sendOwnRequest(question, clock, (message) => outbound.send({ ...message, to }));
  return { ...answer, json: () => parsed(answer.body) };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch (thrown) {
    throw new UpstreamError("malformed", "the answer is not JSON", { isSent: true, cause: thrown });
  }
}
