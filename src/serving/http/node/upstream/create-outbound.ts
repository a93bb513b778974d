/**
 * Sends requests to servers that are not API servers of this cluster, such as aggregated API servers and webhooks. Each
 * target names its own CA and server name.
 */
import { createHash } from "node:crypto";

import type { Outbound, OutboundTarget } from "../../outbound.ts";
import { ConnectionPool, type PoolTarget } from "./connection-pool.ts";
import type { ClientCertificate } from "./credentials.ts";
import type { Dial } from "./dial.ts";
import { OUTBOUND_LIMITS, type PoolLimits } from "./upstream-limits.ts";

export interface OutboundOptions {
  /**
   * Returns the client certificate; undefined if this server has none. Called before every request to a target that
   * requires one, so it must be fast. Connections are reused while it returns the same object.
   */
  readonly clientCertificate?: () => ClientCertificate | undefined;
  /** Opens connections. Default: direct TCP. */
  readonly dial?: Dial;
  readonly log: (message: string, detail?: object) => void;
  readonly limits?: Partial<PoolLimits>;
}

export function createOutbound({ clientCertificate, dial, log, limits }: OutboundOptions): Outbound {
  const pool = new ConnectionPool({ dial, log, limits: { ...OUTBOUND_LIMITS, ...limits } });
  return {
    send: (request) =>
      pool.send(request, request.to.address, (authority) => poolTarget(authority, request.to, clientCertificate)),
    close: () => pool.close(),
  };
}

function poolTarget(
  authority: string,
  { serverName, caBundle: ca, insecureSkipTlsVerify, presentsClientCertificate }: OutboundTarget,
  clientCertificate: OutboundOptions["clientCertificate"],
): PoolTarget {
  const certificate = presentsClientCertificate ? clientCertificate?.() : undefined;
  const bundle = ca === undefined ? "" : createHash("sha256").update(ca).digest("base64url");
  const trust = insecureSkipTlsVerify ? "anybody" : `ca=${bundle}`;
  const key = `${authority} ${serverName} ${trust} ${presentsClientCertificate ? "certificate" : ""}`;
  return { key, serverName, ca, insecureSkipTlsVerify, certificate };
}
