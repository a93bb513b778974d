/**
 * The headers that servers set for each other, and those that concern one connection only. The filter that strips them
 * from a client's request, the authenticators that trust a verified proxy and the proxies that send them must agree on
 * every name: a missed name would let a client act as another user.
 */

/**
 * The planned and the released name of the header by which a peer marks a request that it proxied. Both are sent, both
 * are honored.
 */
export const LOOP_GUARD_HEADERS: readonly string[] = ["X-Kubernetes-APIServer-Rerouted", "X-Kubernetes-Peer-Proxied"];

/** In lower case, as requests carry them. */
export const LOOP_GUARDS: readonly string[] = LOOP_GUARD_HEADERS.map((name) => name.toLowerCase());

/** The server ID of the peer that proxied the request. */
export const PROXIED_BY_HEADER = "x-evenkeel-proxied-by";

/** The prefix of all headers that the servers of a cluster set among themselves. */
export const OWN_PREFIX = "x-evenkeel-";

/** The conventional headers by which a front proxy names the user. */
export const REMOTE_USER_HEADER = "X-Remote-User";
export const REMOTE_UID_HEADER = "X-Remote-Uid";
export const REMOTE_GROUP_HEADER = "X-Remote-Group";
export const REMOTE_EXTRA_PREFIX = "X-Remote-Extra-";

/** Those of RFC 9110, section 7.6.1, and older ones that proxies drop by custom. */
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
