/** Starts two servers on one etcd: the source receives the requests and proxies them to the destination. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HopCertificates } from "./hop-certificates.ts";
import { startServer, temporaryDirectory, type RunningServer } from "./servers.ts";

export interface ClusterStart {
  readonly core: number | undefined;
  /**
   * Endpoint of an etcd that no other cluster has used: records of the servers of an earlier cluster would remain in
   * it.
   */
  readonly etcd: string;
  readonly certificates: HopCertificates;
  readonly releases: { readonly source: string; readonly destination: string };
}

export interface RunningCluster {
  /** The server that receives the requests. */
  readonly source: RunningServer;
  readonly destination: RunningServer;
  stop(): Promise<void>;
}

export async function startCluster({ releases, ...options }: ClusterStart): Promise<RunningCluster> {
  const servers = startServers(options);
  try {
    // The destination starts first: the source is ready only when it has contacted all existing servers.
    const destination = await servers.start("destination", releases.destination);
    const source = await servers.start("source", releases.source);
    return { source, destination, stop: () => servers.stop() };
  } catch (thrown) {
    await servers.stop();
    throw thrown;
  }
}

export interface Servers {
  start(id: string, release: string): Promise<RunningServer>;
  /** Stops all servers. */
  stop(): Promise<void>;
}

/** Servers that call each other. */
export function startServers({ core, etcd, certificates }: Omit<ClusterStart, "releases">): Servers {
  const stack = new AsyncDisposableStack();
  const keys = temporaryDirectory();
  stack.defer(() => keys.remove());
  const common = certificateFlags(certificates, keys.path);
  return {
    async start(id, release) {
      const data = temporaryDirectory();
      stack.defer(() => data.remove());
      const flags = ["--server-id", id, "--release", release, ...common];
      const server = await startServer({ core, dataDirectory: data.path, etcd, flags });
      stack.defer(() => server.stop());
      return server;
    },
    stop: () => stack.disposeAsync(),
  };
}

function certificateFlags(certificates: HopCertificates, directory: string): string[] {
  const { serving, servingCaPem, client, clientCaPem } = certificates;
  const files = {
    "tls-cert-file": serving.certPem,
    "tls-private-key-file": serving.keyPem,
    "peer-ca-file": servingCaPem,
    "proxy-client-cert-file": client.certPem,
    "proxy-client-key-file": client.keyPem,
    "requestheader-client-ca-file": clientCaPem,
  };
  return Object.entries(files).flatMap(([flag, pem]) => {
    const file = join(directory, `${flag}.pem`);
    writeFileSync(file, pem, { mode: 0o600 });
    return [`--${flag}`, file];
  });
}
