/** What a WebSocket client offers to speak, and the token it may have hidden there. Pure. */

export const PROTOCOL_HEADER = "sec-websocket-protocol";
/** Where a browser, which cannot set Authorization, puts its token. */
const BEARER_PREFIX = "base64url.bearer.authorization.k8s.io.";

/** Names as the client offers them; those that carry a token, with their values, apart from the others. */
export function offeredProtocols(text: string | undefined): { readonly tokens: string[]; readonly others: string[] } {
  const offered = (text ?? "").split(",").map((name) => name.trim());
  return {
    tokens: offered.filter((name) => name.startsWith(BEARER_PREFIX)).map((name) => name.slice(BEARER_PREFIX.length)),
    others: offered.filter((name) => name !== "" && !name.startsWith(BEARER_PREFIX)),
  };
}
