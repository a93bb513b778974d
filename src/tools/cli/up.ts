/** `evenkeel up`: a control plane of several servers, of several releases, on this machine. */
import { createReadinessProbe } from "./up/readiness.ts";
import { stopOnSignals } from "./stop-on-signals.ts";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { Command, Option } from "commander";
import { makeDirectory } from "../../base/make-directory.ts";
import { createSystemClock } from "../../client/system.ts";
import type { StorageConfig } from "../../server/config.ts";
import { createNodeEnv, type LogLevel } from "../../server/env-node.ts";
import type { Env } from "../../server/env.ts";
import { openSqliteKv } from "../../storage/kv-sqlite/kv.ts";
import { StorageError, type Kv } from "../../storage/kv.ts";
import { shareKv } from "../../storage/share-kv.ts";
import { CommandFailure } from "./failure.ts";
import { commaList, port } from "./flags.ts";
import { accessOptionsOf, withAccessFlags, type AccessFlags } from "./access-flags.ts";
import { routingOptionsOf, withRoutingFlags, type RoutingFlags } from "./peer-flags.ts";
import { asUsable } from "./read-file.ts";
import { inProcesses } from "./up/child-member.ts";
import { LocalCluster } from "./up/cluster.ts";
import { clusterCredentials, readState, type ClusterState } from "./up/cluster-files.ts";
import { openControl } from "./up/control.ts";
import { controlHandler } from "./up/control-handler.ts";
import { Display } from "./up/display.ts";
import { HOST } from "./up/hosted-server.ts";
import { openLoadBalancer, type LoadBalancer, type LoadBalancerOptions } from "./up/load-balancer.ts";
import { inProcess, type StartServer } from "./up/member.ts";
import { createRollbackGuard } from "./up/rollback-guard.ts";
import { DEFAULT_SERVERS, parseServerSpec, type CommonOptions, type ServerSpec } from "./up/server-spec.ts";
import { serverJson, statusText, clusterSummary } from "./up/summary.ts";

interface UpFlags extends RoutingFlags, AccessFlags {
  readonly servers?: readonly string[];
  readonly dataDir: string;
  readonly port?: number;
  readonly etcdServers?: readonly string[];
  readonly processes?: boolean;
  readonly featureGates?: readonly string[];
  readonly controllers?: readonly string[];
  readonly json?: boolean;
  readonly logLevel: LogLevel;
}

const DEFAULT_PORT = 6443;
const SERVERS_MAX = 32;

export function upCommand(): Command {
  const command = new Command("up")
    .description("Run a control plane of several API servers, of several releases, on this machine.")
    .option(
      "--servers <list>",
      `releases of the servers, each with runtime config of its own if need be, as in 1.36+batch/v1=false (default: those of the data directory, at first ${DEFAULT_SERVERS})`,
      commaList,
    )
    .option(
      "--data-dir <directory>",
      "where objects (without etcd), certificates and the kubeconfig are kept",
      ".evenkeel",
    )
    .option(
      "--port <port>",
      `port of the load balancer, followed by those of the servers; 0 takes free ones (default: those of the data directory, at first ${DEFAULT_PORT} if it is free)`,
      port,
    )
    .option("--etcd-servers <urls>", "keep objects in etcd instead of the data directory", commaList)
    .option("--processes", "run each server in a process of its own")
    .option("--feature-gates <pairs>", "gates to switch on all servers, Name=true or Name=false", commaList)
    .option(
      "--controllers <names>",
      'controllers to run on the server that leads: "*" (default) for all, name, -name',
      commaList,
    );
  return withAccessFlags(withRoutingFlags(command))
    .option("--json", "print one line of JSON when everything is ready, and nothing else")
    .addOption(
      new Option("--log-level <level>", "what to log on standard error")
        .choices(["debug", "info", "warn", "error"])
        .default("error"),
    )
    .action((flags: UpFlags) => up(flags));
}

async function up(flags: UpFlags): Promise<void> {
  const directory = resolve(flags.dataDir);
  const kept = readState(directory);
  // A command line that is wrong leaves no trace on the disk.
  const specs = specsOf(flags, kept);
  // Objects include Secrets: whatever this process writes is for its user only.
  process.umask(0o077);
  asUsable(() => makeDirectory(directory), unusable(directory));
  const running = new Running();
  try {
    // Before anything is written: another process may use the directory.
    const store = await openStore(flags, directory);
    running.onStop(() => store.close());
    const control = await openControl(directory, (request) => running.handle(request));
    running.onStop(() => control.close());
    stopOnSignals({ what: "the cluster", stop: () => running.stop() });
    await start({ flags, directory, kept, specs, running, store });
  } catch (thrown) {
    await running.stop();
    throw asFailure(thrown);
  }
}

/** What has been started so far, to be stopped in the opposite order. */
class Running {
  readonly #stops: (() => unknown)[] = [];
  handle: Parameters<typeof openControl>[1] = () => Promise.resolve({ pid: process.pid });
  #stopping: Promise<void> | undefined;

  onStop(stop: () => unknown): void {
    this.#stops.push(stop);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop();
  }
}

interface StartParts {
  readonly flags: UpFlags;
  readonly directory: string;
  readonly kept: ClusterState | undefined;
  readonly specs: readonly ServerSpec[];
  readonly running: Running;
  readonly store: Store;
}

async function start({ flags, directory, kept, specs, running, store }: StartParts): Promise<void> {
  const featureGates = flags.featureGates ?? [];
  const credentials = asUsable(() => clusterCredentials(directory), unusable(directory));
  const mode = flags.json ? "json" : process.stdout.isTTY ? "live" : "plain";
  const status = (): string => statusText(cluster.servers(), balancer.counts);
  const display = new Display({ out: process.stdout, err: process.stderr, mode, status });
  running.onStop(() => display.stop());
  const env = createNodeEnv({ logLevel: flags.logLevel, write: (text) => display.log(text) });
  display.line(
    `Starting ${specs.length} ${specs.length === 1 ? "server" : "servers"}: Kubernetes ${specs.map(({ text }) => text).join(", ")}`,
  );
  const readiness = createReadinessProbe({ ca: credentials.ca.certPem, token: credentials.token });
  running.onStop(() => readiness.close());
  const balancer = await openBalancer(
    { host: HOST, isReady: (backend) => readiness.isReady(backend), onChange: () => display.changed() },
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
      peersOf: (backend) => readiness.peersOf(backend),
      guardRollback: createRollbackGuard({ ca: credentials.ca.certPem, token: credentials.token, featureGates }),
      start: starter(flags, { env, kv: store.kv, display }),
      firstPort: flags.port === 0 ? undefined : balancer.port + 1,
      say: (line) => display.line(line),
      onChange: () => display.changed(),
    },
    kept,
  );
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

function commonOf(flags: UpFlags): CommonOptions {
  const { featureGates = [], controllers = ["*"] } = flags;
  return { featureGates, controllers, access: accessOptionsOf(flags), peers: routingOptionsOf(flags) };
}

function specsOf(flags: UpFlags, kept: ClusterState | undefined): ServerSpec[] {
  const texts = flags.servers ?? kept?.servers.map(({ spec }) => spec) ?? DEFAULT_SERVERS.split(",");
  if (texts.length === 0) throw new CommandFailure("--servers must name at least one server", 2);
  if (texts.length > SERVERS_MAX) throw new CommandFailure(`--servers may name at most ${SERVERS_MAX} servers`, 2);
  return texts.map((text) => parseServerSpec(text, { ...commonOf(flags), storage: storageOf(flags, "") }));
}

interface Store {
  readonly config: StorageConfig;
  /** Undefined with etcd: every server has connections of its own. */
  readonly kv: Kv | undefined;
  close(): unknown;
}

/** Locks the directory whatever the store is: certificates and the control socket belong to one cluster. */
async function openStore(flags: UpFlags, directory: string): Promise<Store> {
  const config = storageOf(flags, directory);
  const holder = "evenkeel up";
  if (config.kind === "embedded") {
    const kv = await openSqliteKv({ directory, holder, clock: createSystemClock() });
    return { config, kv, close: () => kv.close() };
  }
  // Loaded here: no other command needs SQLite in this thread.
  const { lockDirectory } = await import("../../storage/kv-sqlite/directory-lock.ts");
  const lock = lockDirectory(directory, holder);
  return { config, kv: undefined, close: () => lock.release() };
}

function storageOf({ etcdServers = [] }: UpFlags, directory: string): StorageConfig {
  return etcdServers.length > 0 ? { kind: "etcd", endpoints: etcdServers } : { kind: "embedded", directory };
}

function starter(
  { processes, logLevel }: UpFlags,
  { env, kv, display }: { readonly env: Env; readonly kv: Kv | undefined; readonly display: Display },
): StartServer {
  const shared = kv === undefined ? undefined : shareKv(kv);
  return processes ? inProcesses({ logLevel, shared, writeLog: (text) => display.log(text) }) : inProcess(env, shared);
}

/** A port that was asked for is taken or refused; any other is a preference. */
async function openBalancer(
  options: Omit<LoadBalancerOptions, "port">,
  asked: number | undefined,
  kept: ClusterState | undefined,
): Promise<LoadBalancer> {
  const isAsked = asked !== undefined && asked !== 0;
  try {
    return await openLoadBalancer({ ...options, port: isAsked ? asked : (kept?.port ?? asked ?? DEFAULT_PORT) });
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    if (!isAsked) return openLoadBalancer({ ...options, port: 0 });
    if (code === "EADDRINUSE")
      throw new CommandFailure(`port ${asked} on ${HOST} is already taken: choose another with --port`, 1);
    throw new CommandFailure(`port ${asked} on ${HOST} cannot be used: ${message}`, 1);
  }
}

function unusable(directory: string): string {
  return `the data directory ${directory} cannot be used`;
}

function asFailure(thrown: unknown): unknown {
  return thrown instanceof StorageError ? new CommandFailure(thrown.message, 1) : thrown;
}
