/** Calls webhooks. Derives the address and the TLS verification from the clientConfig of the webhook. */
import type { Resolution, ServiceReference } from "./service-resolver.ts";
import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/within.ts";
import type { WebhookResponse } from "./webhook-response.ts";
import {
  requestOutbound,
  serviceServerName,
  type Outbound,
  type OutboundQuestion,
} from "../../serving/http/outbound.ts";
import { authorityOf, UpstreamError, type UpstreamAddress } from "../../serving/http/upstream.ts";
import { goQuote } from "../../meta/go-quote.ts";
import { isJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";

/** The versions of AdmissionReview and ConversionReview. */
export type ReviewVersion = "v1" | "v1beta1";

/** POSTs a JSON text to the webhook. Rejects with an error whose message is returned to clients. */
export type CallWebhook = (
  clientConfig: JsonObject,
  body: string,
  options: WebhookCallOptions,
) => Promise<WebhookResponse>;

export interface WebhookCallOptions {
  readonly timeoutMs: number;
  /** Aborts when the client that waits for the result disconnects. */
  readonly signal?: AbortSignal | undefined;
}

interface WebhookClientParts {
  readonly clock: Clock;
  /** Undefined if this server sends no outbound requests. */
  readonly outbound: Outbound | undefined;
  readonly resolve: (service: ServiceReference, signal: AbortSignal) => Promise<Resolution>;
}

/** The address of a webhook, and the name that its certificate must have. */
interface WebhookTarget {
  /** The URL for error messages. */
  readonly url: string;
  readonly serverName: string;
  /** Path and query. */
  readonly target: string;
  readonly at: UpstreamAddress | ServiceReference;
}

const HTTPS_PORT = 443;
/** Maximum size of a response: several times the size of the objects in one call. */
const RESPONSE_BYTES_MAX = 32 * 1024 * 1024;
/** The headers that kubernetes sends to webhooks. */
const HEADERS: readonly string[] = [
  ...["User-Agent", "kube-apiserver-admission"],
  ...["Content-Type", "application/json"],
  ...["Accept", "application/json, */*"],
];

export function createWebhookClient(parts: WebhookClientParts): CallWebhook {
  return async (clientConfig, body, options) => {
    const place = placeOf(clientConfig, options.timeoutMs);
    try {
      return await call(parts, place, { ...options, caBundle: caBundleOf(clientConfig), body: Buffer.from(body) });
    } catch (thrown) {
      throw new Error(`Post ${goQuote(place.url)}: ${messageOf(thrown)}`, { cause: thrown });
    }
  };
}

interface Question extends WebhookCallOptions {
  readonly caBundle: string | undefined;
  readonly body: Buffer;
}

async function call(parts: WebhookClientParts, place: WebhookTarget, question: Question): Promise<WebhookResponse> {
  const { outbound, clock } = parts;
  const { caBundle, body, timeoutMs, signal } = question;
  if (outbound === undefined) throw new Error("outbound requests are disabled on this server");
  const until = clock.monotonic() + timeoutMs;
  let failed: unknown;
  for (const address of await addressesOf(parts, place, timeoutMs)) {
    const to = {
      address,
      serverName: place.serverName,
      caBundle,
      insecureSkipTlsVerify: false,
      presentsClientCertificate: false,
    };
    const leftMs = Math.max(0, until - clock.monotonic());
    const asked: OutboundQuestion = {
      to,
      method: "POST",
      target: place.target,
      headers: HEADERS,
      body,
      timeoutMs: leftMs,
      bytesMax: RESPONSE_BYTES_MAX,
      ...(signal === undefined ? {} : { signal }),
    };
    try {
      const response = await requestOutbound({ outbound, clock }, asked);
      return { status: response.status, contentType: response.header("content-type") ?? "", body: response.body };
    } catch (thrown) {
      failed = asGo(thrown, address);
      if (signal?.aborted === true || !isRetriable(thrown)) break;
    }
  }
  throw failed;
}

/**
 * Whether the call is tried again with the next address. Another endpoint may respond, and repeating is safe, because
 * webhook calls must not have side effects.
 */
function isRetriable(thrown: unknown): boolean {
  if (!(thrown instanceof UpstreamError) || thrown.failure === "malformed") return false;
  return thrown.failure !== "timeout" || !thrown.isSent;
}

/**
 * The addresses to try. The first one is tried once more at the end, because the webhook may just have closed a reused
 * connection.
 */
async function addressesOf(
  { resolve, clock }: WebhookClientParts,
  { at }: WebhookTarget,
  timeoutMs: number,
): Promise<readonly UpstreamAddress[]> {
  if (!("name" in at)) return [at, at];
  const giveUp = new AbortController();
  const cancel = clock.after(timeoutMs, () => giveUp.abort());
  try {
    const resolution = await resolve(at, giveUp.signal);
    if (resolution.kind === "unresolved") throw new Error(resolution.message);
    return [...resolution.addresses, ...resolution.addresses.slice(0, 1)];
  } finally {
    cancel();
  }
}

function placeOf(clientConfig: JsonObject, timeoutMs: number): WebhookTarget {
  const { service } = clientConfig;
  const query = `?timeout=${timeoutMs / 1_000}s`;
  if (isJsonObject(service)) return servicePlace(service, query);
  const text = stringAt(clientConfig, "url");
  if (text === "") throw new Error("webhook configuration must have either service or URL");
  const url = URL.parse(text);
  // Validation rejects other URLs, but the store may contain older objects.
  if (url === null || url.protocol !== "https:") throw new Error(`Unparsable URL: ${goQuote(text)}`);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const target = pathOf(url.pathname) + query;
  const port = url.port === "" ? HTTPS_PORT : Number(url.port);
  return { url: `https://${url.host}${target}`, serverName: host, target, at: { host, port } };
}

function servicePlace(service: JsonObject, query: string): WebhookTarget {
  const { port } = service;
  const reference: ServiceReference = {
    namespace: stringAt(service, "namespace"),
    name: stringAt(service, "name"),
    port: typeof port === "number" ? port : HTTPS_PORT,
  };
  const serverName = serviceServerName(reference);
  // The path is parsed, so that it can neither contain a query nor break the request line.
  const path = URL.parse(stringAt(service, "path").replace(/^\/*/, "/"), "https://host")?.pathname ?? "/";
  const target = pathOf(path) + query;
  return { url: `https://${serverName}:${reference.port}${target}`, serverName, target, at: reference };
}

/** As kubernetes: without empty segments and a trailing slash. */
function pathOf(path: string): string {
  return path.replace(/\/+/g, "/").replace(/(.)\/$/, "$1");
}

/** The CA bundle as PEM; undefined if it is absent or empty. */
function caBundleOf(clientConfig: JsonObject): string | undefined {
  const pem = Buffer.from(stringAt(clientConfig, "caBundle"), "base64").toString("utf8");
  return pem.trim() === "" ? undefined : pem;
}

/** Translates known errors to the messages of Go's HTTP client. */
function asGo(thrown: unknown, address: UpstreamAddress): unknown {
  if (!(thrown instanceof UpstreamError)) return thrown;
  if (thrown.failure === "timeout") return new Error("context deadline exceeded", { cause: thrown });
  if (thrown.failure === "tls" && isOfUnknownAuthority(thrown.cause))
    return new Error(UNKNOWN_AUTHORITY, { cause: thrown });
  if (!thrown.isRefused) return thrown;
  return new Error(`dial tcp ${authorityOf(address)}: connect: connection refused`, { cause: thrown });
}

const UNKNOWN_AUTHORITY = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
/** The error codes of OpenSSL. */
const UNKNOWN_AUTHORITY_CODES: ReadonlySet<unknown> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
]);

function isOfUnknownAuthority(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && UNKNOWN_AUTHORITY_CODES.has(cause.code);
}
