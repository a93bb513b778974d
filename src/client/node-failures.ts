/**
 * Classifies why a request over Node's sockets failed, so that the retry rules know whether the server may have
 * received it.
 */
import type { ClientRequest } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { TransportFailure } from "./transport.ts";

/** The failure for each error code of the system, of Node and of undici. */
const FAILURES: ReadonlyMap<string, TransportFailure> = new Map(
  Object.entries({
    ECONNREFUSED: "refused",
    ENOTFOUND: "refused",
    EAI_AGAIN: "refused",
    EHOSTUNREACH: "refused",
    ENETUNREACH: "refused",
    UND_ERR_CONNECT_TIMEOUT: "refused",
    ECONNRESET: "reset",
    EPIPE: "reset",
    ERR_STREAM_PREMATURE_CLOSE: "reset",
    UND_ERR_SOCKET: "reset",
    ETIMEDOUT: "timeout",
  } satisfies Record<string, TransportFailure>),
);

interface FailedConnection {
  /** The thrown error; the error code may be in its `cause`. */
  readonly error: unknown;
  /** Whether the connection was established, so that the server may have received the request. True if unknown. */
  readonly wasSent: boolean;
}

/** A connection that breaks before it is established counts as refused, because the server received nothing. */
export function failureOf({ error, wasSent }: FailedConnection): TransportFailure {
  if (isTurnedAway(error) || isTurnedAway(error instanceof Error ? error.cause : undefined)) return "refused";
  const code = codeOf(error) ?? codeOf(error instanceof Error ? error.cause : undefined) ?? "";
  const failure = FAILURES.get(code) ?? "other";
  return !wasSent && (failure === "reset" || failure === "timeout") ? "refused" : failure;
}

/**
 * Whether undici reports that the server closed the connection with a graceful GOAWAY and did not process this request.
 */
function isTurnedAway(error: unknown): boolean {
  return codeOf(error) === "UND_ERR_INFO" && (error as Error).message.endsWith('"GOAWAY" frame received with code 0');
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Calls back when the connection of the request is established, before the first byte is sent. */
export function onceConnected(request: ClientRequest, callback: () => void): void {
  request.once("socket", (socket: Socket | TLSSocket) => {
    const isSecure = "secureConnecting" in socket;
    const isPending = isSecure ? socket.secureConnecting === true : socket.connecting;
    if (isPending) socket.once(isSecure ? "secureConnect" : "connect", callback);
    else callback();
  });
}
