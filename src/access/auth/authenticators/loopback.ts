import type { ConnectionInfo } from "../../../serving/http/message.ts";
import type { Authenticated, Authenticator } from "../authenticate.ts";

const SELF: Authenticated = {
  user: { name: "system:apiserver", uid: "", groups: ["system:masters"], extra: {} },
  isVerifiedPeer: false,
};

/** Recognizes the server's own calls by the connection object itself, which no external client can forge. */
export function loopbackAuthenticator(loopback: ConnectionInfo): Authenticator {
  return (request) => (request.connection === loopback ? SELF : "none");
}
