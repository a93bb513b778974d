/**
 * Starts real kube-apiservers and Evenkeel servers on one etcd, in a network namespace in which each server has its own
 * address. It ends every process that it starts by its process ID, also if the test fails.
 */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";
import { ask, type SmokeResponse, type Target } from "../smoke/client.ts";
import { runProgram, TOKEN, type Command, type Exit } from "../smoke/start-evenkeel.ts";
import { openOwnAddresses, type OwnAddresses } from "../cluster/network-namespace.ts";
import { openRelay } from "../cluster/packet-drop.ts";
import { openCluster, type Cluster } from "../cluster/start-cluster.ts";
import type { RealBinary } from "./real-binaries.ts";

export type ServerKind = "kube-apiserver" | "evenkeel";

export interface RunningServer extends Target {
  readonly kind: ServerKind;
  readonly address: string;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<SmokeResponse>;
  /** Sends SIGTERM; resolves when the process has ended. */
  stop(): Promise<Exit>;
  kill9(): Promise<Exit>;
  readonly log: string;
}

export interface ServerOptions {
  /** The index of the server's address. A server that starts again has the address and the identity of its last run. */
  readonly at: number;
  readonly flags?: readonly string[];
}

export interface KubeOptions extends ServerOptions {
  readonly binary: RealBinary;
  /**
   * The mixed version proxy: "default" has --peer-ca-file if the release knows it, "no-ca" has the feature without the
   * flag, "off" disables the feature.
   */
  readonly proxy?: "default" | "no-ca" | "off";
}

export interface EvenkeelOptions extends ServerOptions {
  readonly release: string;
}

export interface RealCluster extends AsyncDisposable {
  readonly addresses: readonly string[];
  /** The endpoint of etcd. */
  readonly etcd: string;
  /** The paths of the credentials that all servers share. */
  readonly files: { readonly directory: string; readonly ca: string; readonly signingKey: string };
  startKube(options: KubeOptions): Promise<RunningServer>;
  startEvenkeel(options: EvenkeelOptions): Promise<RunningServer>;
}

const PORT = 6443;
const READY_TIMEOUT_MS = 120_000;
const POLL_MS = 50;
const LOG_SHOWN_MAX = 4_000;
/** Part of the version that only Evenkeel reports. */
const OWN_MARK = "evenkeel";

export async function openRealCluster(count: number): Promise<RealCluster> {
  await using stack = new AsyncDisposableStack();
  const network = await openOwnAddresses(count);
  if (typeof network === "string") throw new Error(network);
  stack.use(network);
  const cluster = stack.use(await openCluster(network.far));
  const relay = stack.use(await openRelay(network.near, cluster.etcd.endpoint));
  const keys = writeSigningKeys(cluster.directory);
  const commands = new Set<Command>();
  stack.defer(() => Promise.all([...commands].map((command) => command[Symbol.asyncDispose]())).then(() => {}));
  const place: Place = { network, cluster, keys, etcd: relay.endpoint, commands };
  const owned = stack.move();
  return {
    addresses: network.far,
    etcd: cluster.etcd.endpoint,
    files: { directory: cluster.directory, ca: join(cluster.directory, "ca.crt"), signingKey: keys.signing },
    startKube: (options) => startKube(place, options),
    startEvenkeel: (options) => startEvenkeel(place, options),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

interface Place {
  readonly network: OwnAddresses;
  readonly cluster: Cluster;
  readonly keys: { readonly signing: string; readonly verifying: string };
  readonly etcd: string;
  readonly commands: Set<Command>;
}

/** All servers accept the service account tokens of each other. */
function writeSigningKeys(directory: string): Place["keys"] {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const [signing, verifying] = [join(directory, "signing.key"), join(directory, "signing.pub")];
  writeFileSync(signing, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600 });
  writeFileSync(verifying, publicKey.export({ type: "spki", format: "pem" }));
  return { signing, verifying };
}

async function startEvenkeel(place: Place, { at, release, flags = [] }: EvenkeelOptions): Promise<RunningServer> {
  const address = place.network.far[at]!;
  const member = await place.cluster.start({
    id: `evenkeel-${at}`,
    release,
    port: PORT,
    address,
    etcd: place.etcd,
    wrapper: place.network.wrapper,
    flags: ["--service-account-signing-key-file", place.keys.signing, ...flags],
  });
  return running("evenkeel", address, { command: member.command, ca: place.cluster.ca });
}

async function startKube(place: Place, options: KubeOptions): Promise<RunningServer> {
  const { network, cluster, commands } = place;
  const address = network.far[options.at]!;
  // The identity of a kube-apiserver is derived from its host name, so each needs its own.
  const ownHostName = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', `kube-${options.at}`];
  const [program, ...rest] = [...network.wrapper, ...ownHostName, options.binary.path, ...kubeFlags(place, options)];
  const command = runProgram(program!, rest);
  commands.add(command);
  const server = running("kube-apiserver", address, { command, ca: cluster.ca });
  await untilReady(server, command);
  const { body } = await server.request("GET", "/version");
  if (String(body.gitVersion).includes(OWN_MARK))
    throw new Error(`${options.binary.path} is not a real kube-apiserver: its version is ${body.gitVersion}`);
  return server;
}

function kubeFlags({ network, cluster, keys, etcd }: Place, options: KubeOptions): string[] {
  const { at, binary, proxy = "default", flags = [] } = options;
  const address = network.far[at]!;
  const file = (name: string): string => join(cluster.directory, name);
  const hasProxyFlags = proxy === "default" && supports(binary, "--peer-ca-file");
  return Object.entries({
    "etcd-servers": etcd,
    "bind-address": address,
    "advertise-address": address,
    "secure-port": String(PORT),
    "tls-cert-file": file("serving.crt"),
    "tls-private-key-file": file("serving.key"),
    "token-auth-file": file("tokens.csv"),
    "requestheader-client-ca-file": file("front-proxy-ca.crt"),
    "requestheader-username-headers": "X-Remote-User",
    "requestheader-group-headers": "X-Remote-Group",
    "requestheader-extra-headers-prefix": "X-Remote-Extra-",
    "proxy-client-cert-file": file("front-proxy-client.crt"),
    "proxy-client-key-file": file("front-proxy-client.key"),
    "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
    "service-account-key-file": keys.verifying,
    "service-account-signing-key-file": keys.signing,
    "service-cluster-ip-range": "10.0.0.0/24",
    "authorization-mode": "RBAC",
    ...(hasProxyFlags && { "peer-ca-file": file("ca.crt"), "peer-advertise-ip": address, "peer-advertise-port": PORT }),
    ...(proxy !== "default" && { "feature-gates": `UnknownVersionInteroperabilityProxy=${proxy === "no-ca"}` }),
  })
    .map(([name, value]) => `--${name}=${value}`)
    .concat(flags);
}

/** Before 1.36, the proxy is an alpha feature, and its flags need the feature gate. */
function supports({ path, release }: RealBinary, flag: string): boolean {
  if (Number(release.split(".")[1]) < 36) return false;
  return execFileSync(path, ["--help"], { encoding: "utf8" }).includes(flag);
}

async function untilReady(server: RunningServer, command: Command): Promise<void> {
  const until = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < until && command.child.exitCode === null) {
    const response = await server.request("GET", "/readyz").catch(() => undefined);
    if (response?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`the kube-apiserver is not ready: ${command.stderr.slice(-LOG_SHOWN_MAX)}`);
}

function running(kind: ServerKind, address: string, from: { command: Command; ca: string }): RunningServer {
  const { command, ca } = from;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const target: Target = { url: `https://${address}:${PORT}`, port: PORT, ca, token: TOKEN, agent };
  const end = async (signal: NodeJS.Signals): Promise<Exit> => {
    command.child.kill(signal);
    const exit = await command.exited;
    agent.destroy();
    return exit;
  };
  return {
    ...target,
    kind,
    address,
    request: (method, path, body, headers = {}) => ask(target, { method, path, body, headers }),
    stop: () => end("SIGTERM"),
    kill9: () => end("SIGKILL"),
    get log() {
      return command.stderr;
    },
  };
}
