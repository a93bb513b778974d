/** What an etcd endpoint may look like. */
import type { SecureClientSessionOptions } from "node:http2";

export interface EtcdTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** The name the server's certificate must carry, when it differs from the endpoint's host. */
  readonly serverName?: string;
}

export function parseEndpoints(endpoints: readonly string[]): readonly URL[] {
  if (endpoints.length === 0)
    throw new Error("at least one etcd endpoint is needed, for example http://127.0.0.1:2379");
  return endpoints.map(parseEndpoint);
}

function parseEndpoint(endpoint: string): URL {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new Error(`etcd endpoint "${endpoint}" is not a URL like http://127.0.0.1:2379 or https://etcd-1:2379`);
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw new Error(`etcd endpoint "${url.host}" must consist of scheme, host and port only`);
  }
  return url;
}

export function tlsOptions(endpoint: URL, tls: EtcdTls | undefined): SecureClientSessionOptions {
  if (endpoint.protocol !== "https:" || tls === undefined) return {};
  return {
    ...(tls.ca && { ca: tls.ca }),
    ...(tls.cert && { cert: tls.cert }),
    ...(tls.key && { key: tls.key }),
    ...(tls.serverName && { servername: tls.serverName }),
  };
}
