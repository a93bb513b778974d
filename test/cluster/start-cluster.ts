/**
 * Starts several servers of one cluster on one etcd, as real processes with real TLS. It ends every process that it
 * starts by its process ID.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, issueCertificate } from "../../src/serving/http/node/certificate-authority.ts";
import { startEtcd, type EtcdProcess } from "../testing/storage/kv-etcd/start-etcd.ts";
import { ensureBuilt, EVENKEEL } from "../smoke/built.ts";
import { ask, type Target } from "../smoke/client.ts";
import { runProgram, TOKEN, type Command, type Evenkeel, type Exit } from "../smoke/start-evenkeel.ts";

export interface MemberOptions {
  readonly id: string;
  readonly release: string;
  /** The port of the server. Default: a free port. */
  readonly port?: number;
  readonly flags?: readonly string[];
  /** "off" disables the mixed version proxy and omits the flags that need it. */
  readonly proxy?: "on" | "off";
  /** The key prefix in etcd. Servers with different prefixes belong to separate clusters. */
  readonly prefix?: string;
  /** The address at which the server listens. Default: 127.0.0.1. */
  readonly address?: string;
  readonly etcd?: string;
  /** A command that runs the server's command line, for example "nsenter" with its arguments. */
  readonly wrapper?: readonly string[];
}

export interface Member extends Evenkeel {
  readonly id: string;
}

/** A server that listens but may not be ready yet. */
export interface StartingMember {
  readonly member: Member;
  /** Resolves when the server has printed that it is ready. */
  readonly ready: Promise<Member>;
}

export interface Cluster extends AsyncDisposable {
  readonly etcd: EtcdProcess;
  readonly ca: string;
  readonly directory: string;
  begin(options: MemberOptions): Promise<StartingMember>;
  /** Starts a server and waits until it is ready. */
  start(options: MemberOptions): Promise<Member>;
}

/**
 * Starts etcd, and returns a cluster that has no servers yet. A server that is started again with the same ID, such as
 * with another release, keeps its data directory.
 */
export async function openCluster(hosts: readonly string[] = []): Promise<Cluster> {
  ensureBuilt();
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-cluster-"));
  const { ca, flags } = writeCredentials(directory, hosts);
  const etcd = (await startEtcd())!;
  const commands = new Set<Command>();
  const begin = async (options: MemberOptions): Promise<StartingMember> => {
    const dataDir = join(directory, options.prefix ?? "registry", options.id);
    mkdirSync(dataDir, { recursive: true });
    const commandLine = serveArguments(options, { dataDir, etcd: etcd.endpoint, credentials: flags });
    const [program, ...rest] = [...(options.wrapper ?? []), EVENKEEL, ...commandLine];
    const command = runProgram(program!, rest);
    commands.add(command);
    const [, url] = await command.printed(/ at (https:\/\/\S+)/);
    const member = running({ id: options.id, command, dataDir, url: url!, ca });
    const ready = command.printed(/^Ready\.$/m).then(() => member);
    // Prevents an unhandled rejection. A caller that awaits `ready` still gets the error.
    ready.catch(() => {});
    return { member, ready };
  };
  return {
    etcd,
    ca,
    directory,
    begin,
    start: async (options) => (await begin(options)).ready,
    async [Symbol.asyncDispose]() {
      await Promise.all([...commands].map((command) => command[Symbol.asyncDispose]()));
      await etcd.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface ClusterFlags {
  /** The flags of every server. */
  readonly common: readonly string[];
  /** The flags of servers that can proxy requests. */
  readonly proxy: readonly string[];
}

function writeCredentials(directory: string, hosts: readonly string[]): { ca: string; flags: ClusterFlags } {
  const nowMs = Date.now();
  const file = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const ca = createAuthority({ commonName: "cluster-ca", nowMs });
  const frontProxyCa = createAuthority({ commonName: "front-proxy-ca", nowMs });
  const names = ["kubernetes.default.svc", "localhost", "127.0.0.1", ...hosts];
  const serving = issueCertificate({ ca, commonName: "kube-apiserver", hosts: names, usage: "serverAuth", nowMs });
  const client = issueCertificate({ ca: frontProxyCa, commonName: "front-proxy-client", usage: "clientAuth", nowMs });
  const common = {
    "--tls-cert-file": file("serving.crt", serving.certPem + ca.certPem),
    "--tls-private-key-file": file("serving.key", serving.keyPem),
    "--token-auth-file": file("tokens.csv", `${TOKEN},admin,admin,"system:masters"\n`),
    "--requestheader-client-ca-file": file("front-proxy-ca.crt", frontProxyCa.certPem),
    "--proxy-client-cert-file": file("front-proxy-client.crt", client.certPem),
    "--proxy-client-key-file": file("front-proxy-client.key", client.keyPem),
  };
  const proxy = ["--peer-ca-file", file("ca.crt", ca.certPem)];
  return { ca: ca.certPem, flags: { common: Object.entries(common).flat(), proxy } };
}

function serveArguments(
  { id, release, port = 0, flags = [], proxy = "on", prefix = "registry", address, etcd }: MemberOptions,
  from: { readonly dataDir: string; readonly etcd: string; readonly credentials: ClusterFlags },
): string[] {
  return [
    "serve",
    ...["--release", release],
    ...["--server-id", id],
    ...["--secure-port", String(port)],
    ...["--bind-address", address ?? "127.0.0.1"],
    ...["--data-dir", from.dataDir],
    ...["--etcd-servers", etcd ?? from.etcd],
    ...["--etcd-prefix", `/${prefix}`],
    ...from.credentials.common,
    ...(proxy === "on" ? from.credentials.proxy : ["--feature-gates", "UnknownVersionInteroperabilityProxy=false"]),
    ...flags,
  ];
}

interface Started {
  readonly id: string;
  readonly command: Command;
  readonly dataDir: string;
  readonly url: string;
  readonly ca: string;
}

function running({ id, command, dataDir, url, ca }: Started): Member {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const target: Target = { url, port: Number(new URL(url).port), ca, token: TOKEN, agent };
  const end = async (signal: NodeJS.Signals): Promise<Exit> => {
    command.child.kill(signal);
    const exit = await command.exited;
    agent.destroy();
    return exit;
  };
  return {
    ...target,
    id,
    command,
    pid: command.pid,
    dataDir,
    kubeconfig: join(dataDir, "kubeconfig"),
    get stdout() {
      return command.stdout;
    },
    get stderr() {
      return command.stderr;
    },
    request: (method, path, body, headers) =>
      ask(target, { method, path, body, ...(headers === undefined ? {} : { headers }) }),
    stop: () => end("SIGTERM"),
    kill9: () => end("SIGKILL"),
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await command[Symbol.asyncDispose]();
    },
  };
}
