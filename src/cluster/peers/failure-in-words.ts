/**
 * Describes in a few words why a call to a peer failed, for `evenkeel status`, the log and 503 responses. Without it, an
 * operator sees that a peer is unreachable, but not whether to check the network, the process or the certificates. The
 * words contain no text that a peer sent.
 */
import { UpstreamError, type UpstreamFailure } from "../../serving/http/upstream.ts";
import { PeerResponseError } from "./peer-document.ts";

const UNKNOWN_AUTHORITY = "TLS: certificate signed by unknown authority";
const NOT_TLS = "TLS: the peer does not speak TLS";

/** The codes of Node's errors: those of the system, then those of OpenSSL for the certificate of the peer. */
const BY_CODE: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "connection refused"],
  ["ECONNRESET", "connection reset"],
  ["EPIPE", "connection reset"],
  ["ECONNABORTED", "connection reset"],
  ["EHOSTUNREACH", "host unreachable"],
  ["EHOSTDOWN", "host unreachable"],
  ["ENETUNREACH", "network unreachable"],
  ["ENETDOWN", "network unreachable"],
  ["ETIMEDOUT", "no response from the host"],
  ["ENOTFOUND", "host name not found"],
  ["EAI_AGAIN", "host name cannot be resolved"],
  ["EACCES", "connection not permitted on this host"],
  ["EPERM", "connection not permitted on this host"],
  ["EPROTO", "TLS: handshake failed"],
  ["CERT_HAS_EXPIRED", "TLS: certificate expired"],
  ["CERT_NOT_YET_VALID", "TLS: certificate not yet valid"],
  ["CERT_REVOKED", "TLS: certificate revoked"],
  ["INVALID_PURPOSE", "TLS: certificate not valid for a server"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "TLS: certificate not valid for the server name"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", UNKNOWN_AUTHORITY],
  ["UNABLE_TO_GET_ISSUER_CERT", UNKNOWN_AUTHORITY],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", UNKNOWN_AUTHORITY],
  ["SELF_SIGNED_CERT_IN_CHAIN", UNKNOWN_AUTHORITY],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", UNKNOWN_AUTHORITY],
  ["CERT_SIGNATURE_FAILURE", UNKNOWN_AUTHORITY],
  ["CERT_UNTRUSTED", UNKNOWN_AUTHORITY],
  ["INVALID_CA", UNKNOWN_AUTHORITY],
  ["ERR_SSL_WRONG_VERSION_NUMBER", NOT_TLS],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", NOT_TLS],
  ["ERR_SSL_HTTP_REQUEST", NOT_TLS],
]);

/** Alerts by which the peer rejects the client certificate of this server. */
const EXPIRED_ALERT = /^ERR_SSL_.*ALERT_CERTIFICATE_EXPIRED$/;
const CERTIFICATE_ALERT = /^ERR_SSL_.*ALERT_(?:\w*CERTIFICATE\w*|UNKNOWN_CA|ACCESS_DENIED)$/;

const BY_FAILURE: Readonly<Record<UpstreamFailure, string>> = {
  connect: "no connection",
  exhausted: "no free connection on this server",
  tls: "TLS: handshake failed",
  reset: "connection reset",
  timeout: "no response in time",
  aborted: "request aborted",
  malformed: "invalid HTTP response",
};

const CODE_PATTERN = /^[A-Z][A-Z0-9_]{1,80}$/;
const CAUSES_MAX = 4;

export function failureInWords(error: unknown): string {
  if (error instanceof PeerResponseError) return error.message;
  if (!(error instanceof UpstreamError)) return "invalid discovery document";
  const words = upstreamWords(error);
  return error.isOfEgressProxy ? `egress proxy: ${words}` : words;
}

function upstreamWords({ failure, timeoutMs, cause }: UpstreamError): string {
  if (failure === "timeout")
    return timeoutMs === undefined ? BY_FAILURE.timeout : `no response for ${timeoutMs / 1000} s`;
  const code = codeOf(cause);
  if (code === undefined) return BY_FAILURE[failure];
  const known = BY_CODE.get(code);
  if (known !== undefined) return known;
  if (EXPIRED_ALERT.test(code)) return "TLS: client certificate expired";
  if (CERTIFICATE_ALERT.test(code)) return "TLS: client certificate rejected by the peer";
  return `${BY_FAILURE[failure]} (${code})`;
}

/** The first code in the chain of causes; undefined if there is none. */
function codeOf(cause: unknown): string | undefined {
  let current = cause;
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error; depth++) {
    const { code } = current as NodeJS.ErrnoException;
    if (typeof code === "string" && CODE_PATTERN.test(code)) return code;
    current = current.cause;
  }
  return undefined;
}
