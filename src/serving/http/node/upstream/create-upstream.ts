/**
 * Sends requests to peers. All peers have the same server name and CA, and receive the same client certificate, which
 * may be renewed at any time.
 */
import { authorityOf, type Upstream } from "../../upstream.ts";
import { ConnectionPool, type PoolTarget } from "./connection-pool.ts";
import { unusableCredentials, type UpstreamTls } from "./credentials.ts";
import type { Dial } from "./dial.ts";
import { UPSTREAM_LIMITS, type PoolLimits } from "./upstream-limits.ts";

export interface UpstreamOptions {
  /**
   * Returns the certificates. Called before every request, so it must be fast. Connections are reused while it returns
   * the same object. When it returns another one, connections made with the earlier one are closed when they become
   * idle.
   */
  readonly tls: () => UpstreamTls;
  /** The name for which the certificate of every peer must be valid, whatever its address. */
  readonly serverName: string;
  /** Opens connections. Default: direct TCP. */
  readonly dial?: Dial;
  readonly log: (message: string, detail?: object) => void;
  readonly limits?: Partial<PoolLimits>;
}

export function createUpstream({ tls, serverName, dial, log, limits }: UpstreamOptions): Upstream {
  const pool = new ConnectionPool({ dial, log, limits: { ...UPSTREAM_LIMITS, ...limits } });
  const targetOf = (key: string): PoolTarget => {
    const certificate = currentOf(tls);
    return { key, serverName, ca: certificate.ca, insecureSkipTlsVerify: false, certificate };
  };
  return {
    send: (request) => pool.send(request, request.address, targetOf),
    retire: (address) => pool.retire(authorityOf(address)),
    disconnect: (address) => pool.disconnect(authorityOf(address)),
    close: () => pool.close(),
  };
}

function currentOf(tls: () => UpstreamTls): UpstreamTls {
  try {
    return tls();
  } catch (error) {
    throw unusableCredentials(error);
  }
}
