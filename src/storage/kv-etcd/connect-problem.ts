/**
 * Adds to the reason of a failed connection to etcd what an operator can do about it. The errors of sockets and of
 * OpenSSL do not say that one side speaks TLS and the other does not.
 */

/** Node.js' advice is for its users, not for operators of this server. */
const ADVICE_OF_NODE = /; if the root CA is installed locally.*$/s;

export function connectProblem({ protocol }: URL, reason: string): string {
  const problem = reason.replace(ADVICE_OF_NODE, "");
  const advice = protocol === "https:" ? adviceOnTls(problem) : adviceOnClear(problem);
  return advice === undefined ? problem : `${problem}; ${advice}`;
}

function adviceOnClear(problem: string): string | undefined {
  const isClosed = /connection was closed|ECONNRESET|Protocol error/.test(problem);
  return isClosed ? "if etcd speaks TLS, --etcd-servers must name it with https://" : undefined;
}

function adviceOnTls(problem: string): string | undefined {
  if (/before secure TLS connection|wrong version number|packet length too long/.test(problem))
    return "if etcd does not speak TLS, --etcd-servers must name it with http://";
  if (/self-signed certificate|unable to (get|verify)/.test(problem))
    return "--etcd-cafile must name the CA of etcd's certificate";
  if (/certificate required|bad certificate|handshake failure/.test(problem))
    return "etcd may require --etcd-certfile and --etcd-keyfile";
  return undefined;
}
