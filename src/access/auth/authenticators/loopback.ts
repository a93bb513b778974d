import type { ConnectionInfo } from "../../../serving/http/message.ts";
import type { Authenticated, Authenticator } from "../authenticate.ts";

const SELF: Authenticated = {
  user: { name: "system:apiserver", uid: "", groups: ["system:masters"], extra: {} },
  isVerifiedPeer: false,
};

/** Authenticates the server's own calls. They use a connection object that no external client can have. */
export function loopbackAuthenticator(loopback: ConnectionInfo): Authenticator {
  return (request) => (request.connection === loopback ? SELF : "none");
}
