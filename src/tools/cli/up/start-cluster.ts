/** Starts the servers of `evenkeel up` behind their load balancer, and prints the summary. */
import { hostname } from "node:os";
import { join } from "node:path";
import { createNodeEnv } from "../../../server/env-node.ts";
import type { Env } from "../../../server/env.ts";
import type { Kv } from "../../../storage/kv.ts";
import { shareKv } from "../../../storage/share-kv.ts";
import { isUnspecified, reachableAddress } from "../reachable-address.ts";
import { asUsable } from "../read-file.ts";
import { inProcesses } from "./child-member.ts";
import { clusterCredentials, type ClusterState } from "./cluster-files.ts";
import type { ClusterStore } from "./cluster-store.ts";
import { LocalCluster } from "./cluster.ts";
import { controlHandler } from "./control-handler.ts";
import { Display } from "./display.ts";
import { gateWarnings } from "./gate-warnings.ts";
import { HOST } from "./hosted-server.ts";
import { inProcess, type StartServer } from "./member.ts";
import { openBalancer } from "./open-balancer.ts";
import { createReadinessProbe } from "./readiness.ts";
import { createRollbackGuard } from "./rollback-guard.ts";
import { UnreachableServers } from "./unreachable-servers.ts";
import type { UpSession } from "./up-session.ts";
import type { ServerSpec } from "./server-spec.ts";
import { clusterSummary, serverJson, statusText } from "./summary.ts";
import { commonOf, type UpFlags } from "./up-flags.ts";

interface StartParts {
  readonly flags: UpFlags;
  readonly directory: string;
  readonly kept: ClusterState | undefined;
  readonly specs: readonly ServerSpec[];
  readonly running: UpSession;
  readonly store: ClusterStore;
}

export async function startCluster({ flags, directory, kept, specs, running, store }: StartParts): Promise<void> {
  const featureGates = flags.featureGates ?? [];
  const { bindAddress } = flags;
  const address = reachableAddress(bindAddress);
  const host = isUnspecified(bindAddress) ? (address ?? HOST) : bindAddress;
  const credentials = asUsable(() => clusterCredentials(directory, host), unusable(directory));
  const mode = flags.json ? "json" : process.stdout.isTTY ? "live" : "plain";
  const unreachable = new UnreachableServers();
  let created = undefined as LocalCluster | undefined;
  const status = (): string =>
    created === undefined ? "" : statusText(created.servers(), balancer.counts, (id) => unreachable.reasonFor(id));
  const refresh = (): Promise<void> =>
    unreachable.refresh(created?.running() ?? [], (backend) => readiness.peersOf(backend));
  const display = new Display({ out: process.stdout, err: process.stderr, mode, status, refresh });
  running.onStop(() => display.stop());
  const env = createNodeEnv({ logLevel: flags.logLevel, write: (text) => display.log(text) });
  display.line(
    `Starting ${specs.length} ${specs.length === 1 ? "server" : "servers"}: Kubernetes ${specs.map(({ text }) => text).join(", ")}`,
  );
  for (const warning of gateWarnings(specs, featureGates)) display.log(`${warning}\n`);
  const readiness = createReadinessProbe({ ca: credentials.ca.certPem, token: credentials.token });
  running.onStop(() => readiness.close());
  const balancer = await openBalancer(
    { host: bindAddress, isReady: (backend) => readiness.isReady(backend), onChange: () => display.changed() },
    flags.port,
    kept,
  );
  running.onStop(() => balancer.close());
  const cluster = new LocalCluster(
    {
      directory,
      credentials,
      storage: store.config,
      hostname: hostname(),
      common: commonOf(flags),
      balancer,
      host,
      address,
      peersOf: (backend) => readiness.peersOf(backend),
      guardRollback: createRollbackGuard({ ca: credentials.ca.certPem, token: credentials.token, featureGates }),
      start: starter(flags, { env, kv: store.kv, display }),
      firstPort: flags.port === 0 ? undefined : balancer.port + 1,
      print: (line) => display.line(line),
      onChange: () => display.changed(),
    },
    kept,
  );
  created = cluster;
  running.onStop(() => cluster.stop());
  running.handle = controlHandler(cluster);
  await cluster.startAll(specs, kept);
  const { balancerUrl: loadBalancer } = cluster;
  const kubeconfig = join(directory, "kubeconfig");
  const servers = cluster.servers();
  const objects = store.config.kind === "etcd" ? `in etcd at ${store.config.endpoints.join(", ")}` : `in ${directory}`;
  display.line(clusterSummary({ servers, featureGates, loadBalancer, kubeconfig, objects }));
  if (!flags.json) return;
  const { token, caFile } = credentials;
  const made = { loadBalancer, kubeconfig, token, caFile, dataDir: directory, pid: process.pid };
  process.stdout.write(`${JSON.stringify({ servers: servers.map(serverJson), ...made })}\n`);
}

function starter(
  { processes, logLevel }: UpFlags,
  { env, kv, display }: { readonly env: Env; readonly kv: Kv | undefined; readonly display: Display },
): StartServer {
  const shared = kv === undefined ? undefined : shareKv(kv);
  return processes ? inProcesses({ logLevel, shared, writeLog: (text) => display.log(text) }) : inProcess(env, shared);
}

export function unusable(directory: string): string {
  return `the data directory ${directory} cannot be used`;
}
