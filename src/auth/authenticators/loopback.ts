import type { ConnectionInfo } from "../../http/message.ts";
import type { Authenticator } from "../authenticate.ts";
import type { User } from "../user.ts";

const SELF: User = { name: "system:apiserver", uid: "", groups: ["system:masters"], extra: {} };

/** The server's own calls are recognised by the connection object itself, which nothing outside can name. */
export function loopbackAuthenticator(loopback: ConnectionInfo): Authenticator {
  return (request) => (request.connection === loopback ? SELF : "none");
}
