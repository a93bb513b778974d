/**
 * Authenticates WebSocket requests by bearer tokens. Browsers cannot set the Authorization header of a WebSocket, so
 * they send the token as one of the subprotocols.
 */
import { headerValue } from "../../../serving/http/message.ts";
import { isWebSocketRequest } from "../../../serving/http/web-socket.ts";
import { offeredProtocols, PROTOCOL_HEADER } from "../../../serving/http/web-socket-protocols.ts";
import type { Authenticator } from "../authenticate.ts";
import { authenticated } from "../bearer.ts";
import type { TokenAuthenticator } from "../tokens.ts";

const BASE64URL = /^[A-Za-z0-9_-]+$/;

export function webSocketAuthenticator(ask: TokenAuthenticator, apiAudiences: readonly string[]): Authenticator {
  return (request) => {
    if (!isWebSocketRequest(request)) return "none";
    const { tokens, others } = offeredProtocols(headerValue(request.headers, PROTOCOL_HEADER));
    const [encoded] = tokens;
    if (encoded === undefined) return "none";
    // As kubernetes: exactly one token and at least one other protocol, because the server must not select the token as
    // the protocol.
    if (tokens.length > 1 || others.length === 0 || !BASE64URL.test(encoded)) return "rejected";
    const response = ask(Buffer.from(encoded, "base64url").toString("utf8"), apiAudiences);
    return response instanceof Promise
      ? response.then((given) => authenticated(given, request))
      : authenticated(response, request);
  };
}
