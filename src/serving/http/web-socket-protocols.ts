/** Parses the subprotocols that a WebSocket client offers, and the bearer tokens that it may send among them. */

export const PROTOCOL_HEADER = "sec-websocket-protocol";
/** The prefix of the subprotocol in which a browser sends its token, because a browser cannot set Authorization. */
const BEARER_PREFIX = "base64url.bearer.authorization.k8s.io.";

/** Splits the offered subprotocols into tokens and other names. */
export function offeredProtocols(text: string | undefined): { readonly tokens: string[]; readonly others: string[] } {
  const offered = (text ?? "").split(",").map((name) => name.trim());
  return {
    tokens: offered.filter((name) => name.startsWith(BEARER_PREFIX)).map((name) => name.slice(BEARER_PREFIX.length)),
    others: offered.filter((name) => name !== "" && !name.startsWith(BEARER_PREFIX)),
  };
}
