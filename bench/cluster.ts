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

export async function startCluster({ core, etcd, certificates, releases }: ClusterStart): Promise<RunningCluster> {
  await using stack = new AsyncDisposableStack();
  const keys = temporaryDirectory();
  stack.defer(() => keys.remove());
  const common = certificateFlags(certificates, keys.path);
  const start = async (id: string, release: string): Promise<RunningServer> => {
    const data = temporaryDirectory();
    stack.defer(() => data.remove());
    const flags = ["--server-id", id, "--release", release, ...common];
    const server = await startServer({ core, dataDirectory: data.path, etcd, flags });
    stack.defer(() => server.stop());
    return server;
  };
  // The destination starts first: the source is ready only when it has contacted all existing servers.
  const destination = await start("destination", releases.destination);
  const source = await start("source", releases.source);
  const owned = stack.move();
  return { source, destination, stop: () => owned.disposeAsync() };
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
