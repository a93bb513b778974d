/**
 * The names of headers that servers set for each other, and of headers that concern only one connection. Three parts
 * must agree on every name: the filter that strips these headers from a client's request, the authenticators that trust
 * them from a verified proxy, and the proxies that send them. A missed name would let a client act as another user.
 */

/**
 * The header by which a peer marks a request that it proxied, with its planned and its released name. Servers send both
 * and accept either.
 */
export const LOOP_GUARD_HEADERS: readonly string[] = ["X-Kubernetes-APIServer-Rerouted", "X-Kubernetes-Peer-Proxied"];

/** The same names in lower case, as in parsed requests. */
export const LOOP_GUARDS: readonly string[] = LOOP_GUARD_HEADERS.map((name) => name.toLowerCase());

/** The server ID of the peer that proxied the request. */
export const PROXIED_BY_HEADER = "x-evenkeel-proxied-by";

/** The prefix of all headers that the servers of a cluster set among themselves. */
export const OWN_PREFIX = "x-evenkeel-";

/** The conventional headers in which a front proxy sends the user. */
export const REMOTE_USER_HEADER = "X-Remote-User";
export const REMOTE_UID_HEADER = "X-Remote-Uid";
export const REMOTE_GROUP_HEADER = "X-Remote-Group";
export const REMOTE_EXTRA_PREFIX = "X-Remote-Extra-";

/** The hop-by-hop headers of RFC 9110, section 7.6.1, and older ones that proxies usually drop. */
export const HOP_BY_HOP_HEADERS: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
