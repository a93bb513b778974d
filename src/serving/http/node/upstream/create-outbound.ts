/** Requests to servers outside of the cluster's own set: each target says which CA and server name it is known by. */
import { createHash } from "node:crypto";

import type { Outbound, OutboundTarget } from "../../outbound.ts";
import { ConnectionPool, type PoolTarget } from "./connection-pool.ts";
import type { ClientCertificate } from "./credentials.ts";
import type { Dial } from "./dial.ts";
import { OUTBOUND_LIMITS, type PoolLimits } from "./upstream-limits.ts";

export interface OutboundOptions {
  /**
   * Asked before every request to a target that wants it, so it must be quick. As long as it returns the same object its
   * connections are used again. Undefined: this server has no certificate to show.
   */
  readonly clientCertificate?: () => ClientCertificate | undefined;
  /** Direct TCP unless given. */
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
