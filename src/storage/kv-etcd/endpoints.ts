/** Parses and validates etcd endpoints. */
import type { SecureClientSessionOptions } from "node:http2";

export interface EtcdTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** The name that the server's certificate must contain, if it differs from the endpoint's host. */
  readonly serverName?: string;
}

export function parseEndpoints(endpoints: readonly string[]): readonly URL[] {
  if (endpoints.length === 0)
    throw new Error("at least one etcd endpoint is required, for example http://127.0.0.1:2379");
  return endpoints.map(parseEndpoint);
}

function parseEndpoint(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new Error(`etcd endpoint "${endpoint}" is not a URL such as http://127.0.0.1:2379 or https://etcd-1:2379`);
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw new Error(`etcd endpoint "${url.host}" must contain only scheme, host and port`);
  }
  return url;
}

export function tlsOptions(endpoint: URL, tls: EtcdTls | undefined): SecureClientSessionOptions {
  if (endpoint.protocol !== "https:" || tls === undefined) return {};
  return {
    allowPartialTrustChain: true,
    ...(tls.ca && { ca: tls.ca }),
    ...(tls.cert && { cert: tls.cert }),
    ...(tls.key && { key: tls.key }),
    ...(tls.serverName && { servername: tls.serverName }),
  };
}
