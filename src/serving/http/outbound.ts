/**
 * How requests reach servers that are not of this cluster's own set, such as aggregated API servers and webhooks: the
 * port that real sockets (serving/http/node/outbound/) and the simulated network implement. What serving/http/upstream.ts guarantees
 * holds here too; besides, each target says whom it must prove to be and who may vouch for it.
 */
import type { Clock } from "../../base/clock.ts";
import { answerHeader } from "./forwarded.ts";
import { UpstreamError, type UpstreamAddress, type UpstreamRequest, type UpstreamResponse } from "./upstream.ts";
import { wholeBody } from "./whole-body.ts";

export interface Outbound {
  send(request: OutboundRequest): Promise<UpstreamResponse>;
  /** Breaks off what is under way, and refuses what comes. */
  close(): Promise<void>;
}

export interface OutboundRequest extends Omit<UpstreamRequest, "address"> {
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

export interface OutboundQuestion {
  readonly to: OutboundTarget;
  readonly method: string;
  /** Path and query exactly as they go on the wire. */
  readonly target: string;
  /** name, value, … */
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
  /** Until the answer is complete. */
  readonly timeoutMs: number;
  /** More of an answer is refused. */
  readonly bytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

export interface OutboundAnswer {
  readonly status: number;
  readonly body: Buffer;
  /** The first with this name, which is in lower case. */
  header(name: string): string | undefined;
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
  asked: OutboundQuestion,
): Promise<OutboundAnswer> {
  const { to, method, target, headers, body, timeoutMs, bytesMax, signal } = asked;
  const giveUp = new AbortController();
  let isLate = false;
  const onAbort = (): void => giveUp.abort();
  const cancel = clock.after(timeoutMs, () => {
    isLate = true;
    giveUp.abort();
  });
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) onAbort();
  try {
    const response = await outbound.send({
      ...{ to, method, target, headers, isUpgrade: false, signal: giveUp.signal },
      body: body === undefined ? undefined : once(body),
      contentLength: body?.length,
    });
    return toAnswer(response, await wholeBody(response.body, bytesMax));
  } catch (thrown) {
    if (!isLate || !(thrown instanceof UpstreamError)) throw thrown;
    const { isSent } = thrown;
    throw new UpstreamError("timeout", `there was no answer within ${timeoutMs} ms`, { isSent, cause: thrown });
  } finally {
    cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}

/** POST of a JSON value, as webhooks are called. */
export function callJson(
  caller: OutboundCaller,
  { value, ...asked }: Omit<OutboundQuestion, "method" | "body"> & { readonly value: unknown },
): Promise<OutboundAnswer> {
  const headers = ["Content-Type", "application/json", "Accept", "application/json", ...asked.headers];
  return askOutbound(caller, { ...asked, method: "POST", headers, body: Buffer.from(JSON.stringify(value)) });
}

function toAnswer(response: UpstreamResponse, body: Buffer): OutboundAnswer {
  return {
    status: response.status,
    body,
    header: (name) => answerHeader(response, name),
    json() {
      try {
        return JSON.parse(body.toString("utf8")) as unknown;
      } catch (thrown) {
        throw new UpstreamError("malformed", "the answer is not JSON", { isSent: true, cause: thrown });
      }
    },
  };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  if (bytes.length > 0) yield bytes;
}
