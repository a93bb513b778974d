/** `evenkeel serve`: one API server. */
import type { IfReadyMode } from "../http/filters/if-ready.ts";
import { resolve } from "node:path";
import { Command, Option } from "commander";
import { DEFAULT_RELEASE, RELEASES } from "../catalogue/release.ts";
import { resolveOptions, type ServerConfig, type ServerOptions, type StorageConfig } from "../server/config.ts";
import { OptionError } from "../server/option-error.ts";
import { createNodeEnv, type LogLevel } from "../server/env-node.ts";
import { startListening, type ListeningServer } from "../server/listening-server.ts";
import { StorageError } from "../storage/kv.ts";
import {
  ensureDirectory,
  ensureTokenFile,
  firstToken,
  servingCredentials,
  writeKubeconfig,
  type Credentials,
} from "./data-directory.ts";
import { auditOptionsOf, withAuditFlags, type AuditFlags } from "./audit-flags.ts";
import { openCredentialFiles, type CredentialFileNames } from "../server/credential-files.ts";
import {
  keptServiceAccountKey,
  serviceAccountsOf,
  usesKeptKey,
  withCredentialFlags,
  type CredentialFlags,
} from "./credential-flags.ts";
import { CommandFailure } from "./failure.ts";
import { accessOptionsOf, withAccessFlags, type AccessFlags } from "./access-flags.ts";
import { peerOptionsOf, withPeerFlags, type PeerFlags } from "./peer-flags.ts";
import { readFile, asUsable } from "./read-file.ts";
import { reachableAddress } from "./reachable-address.ts";
import { emulationOptionsOf, withVersionFlags, type VersionFlags } from "./version-flags.ts";
import { address, count, duration, list, port, probability } from "./flags.ts";

interface ServeFlags {
  readonly securePort: number;
  readonly bindAddress: string;
  readonly advertiseAddress?: string;
  readonly serviceClusterIpRange: string;
  readonly serviceNodePortRange: string;
  readonly dataDir: string;
  readonly release: string;
  readonly strictRelease?: boolean;
  readonly runtimeConfig?: readonly string[];
  readonly serviceEndpointOverride?: readonly string[];
  readonly controllers?: readonly string[];
  readonly rootCaFile?: string;
  readonly featureGates?: readonly string[];
  readonly etcdServers?: readonly string[];
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
  readonly etcdPrefix: string;
  readonly etcdCompactionInterval: number;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tokenAuthFile?: string;
  readonly clientCaFile?: string;
  readonly requestheaderClientCaFile?: string;
  readonly requestheaderAllowedNames?: readonly string[];
  readonly requestheaderUsernameHeaders?: readonly string[];
  readonly requestheaderUidHeaders?: readonly string[];
  readonly requestheaderGroupHeaders?: readonly string[];
  readonly requestheaderExtraHeadersPrefix?: readonly string[];
  readonly eventTtl: number;
  readonly requestTimeout: number;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly shutdownDelayDuration: number;
  readonly shutdownSendRetryAfter?: boolean;
  readonly shutdownWatchTerminationGracePeriod: number;
  readonly goawayChance: number;
  readonly startupSendRetryAfterIfNotInitialized?: boolean;
  readonly startupIfReadyMode?: "retry" | "report";
  readonly logLevel: LogLevel;
}

type AllFlags = ServeFlags & AccessFlags & AuditFlags & CredentialFlags & PeerFlags & VersionFlags;

export function serveCommand(): Command {
  const command = withLifeFlags(withVersionFlags(serveFlags()));
  const known = withAccessFlags(withCredentialFlags(withCallerFlags(command)));
  return withPeerFlags(withAuditFlags(known)).action((flags: AllFlags) => serve(flags));
}

function serveFlags(): Command {
  return new Command("serve")
    .description("Run one API server. Flags are named as kube-apiserver names them where it has them.")
    .option("--secure-port <port>", "HTTPS port; 0 takes a free one", port, 6443)
    .option("--bind-address <ip>", "address to listen on", address, "127.0.0.1")
    .option("--advertise-address <ip>", "address at which the rest of the cluster reaches this server", address)
    .option("--service-cluster-ip-range <cidr>", "subnet that cluster IPs are taken from", "10.0.0.0/24")
    .option("--service-node-port-range <range>", "ports that node ports are taken from", "30000-32767")
    .option(
      "--data-dir <directory>",
      "where objects (without etcd), certificates, tokens and the kubeconfig are kept",
      ".evenkeel",
    )
    .option("--release <release>", `Kubernetes release to be: ${RELEASES.join(", ")}`, DEFAULT_RELEASE)
    .option("--strict-release", "serve exactly the release's own defaults, without the APIs Evenkeel adds")
    .option(
      "--runtime-config <pairs>",
      "APIs to switch on or off: api/all, api/beta, group/version, group/version/resource, each =true or =false",
      list,
    )
    .option("--feature-gates <pairs>", "gates to switch, Name=true or Name=false", list)
    .option(
      "--service-endpoint-override <pairs>",
      "NAME.NAMESPACE=HOST:PORT of services that webhooks and aggregated API servers are reached at",
      list,
    )
    .option(
      "--controllers <names>",
      'controllers to run while this server leads: "*" (default) for all, name, -name',
      list,
    )
    .option("--etcd-servers <urls>", "keep objects in etcd instead of the data directory", list)
    .option("--etcd-cafile <file>", "CA that signed etcd's certificate")
    .option("--etcd-certfile <file>", "client certificate for etcd")
    .option("--etcd-keyfile <file>", "key of the client certificate for etcd")
    .option("--etcd-prefix <path>", "where everything lies in the store", "/registry")
    .addOption(
      new Option("--etcd-compaction-interval <duration>", "how often old history is forgotten; 0 never")
        .argParser(duration)
        .default(300_000, "5m"),
    )
    .option("--tls-cert-file <file>", "serving certificate; without it one is made and kept in the data directory")
    .option("--tls-private-key-file <file>", "key of the serving certificate")
    .option("--root-ca-file <file>", "CA that every namespace is told, by default that of the serving certificate")
    .option(
      "--token-auth-file <file>",
      'CSV of token,user,uid,"groups"; without it an administrator\'s token is made and kept',
    )
    .addOption(
      new Option("--event-ttl <duration>", "how long events are kept").argParser(duration).default(3_600_000, "1h"),
    )
    .addOption(
      new Option("--request-timeout <duration>", "everything but watches is answered within this time")
        .argParser(duration)
        .default(60_000, "1m"),
    )
    .option("--max-requests-inflight <n>", "reads served at the same time", count, 400)
    .option("--max-mutating-requests-inflight <n>", "writes served at the same time", count, 200);
}

/** How it starts, how it leaves, and what it says meanwhile. */
function withLifeFlags(command: Command): Command {
  return command
    .addOption(
      new Option("--shutdown-delay-duration <duration>", "how long to go on serving, unready, before a shutdown")
        .argParser(duration)
        .default(0, "0"),
    )
    .option(
      "--shutdown-send-retry-after",
      "during a shutdown go on listening until all is done, and tell who comes meanwhile when to come again",
    )
    .addOption(
      new Option(
        "--shutdown-watch-termination-grace-period <duration>",
        "over which time a shutdown ends watches, one after the other",
      )
        .argParser(duration)
        .default(0, "0"),
    )
    .option(
      "--goaway-chance <probability>",
      "how likely an answer by HTTP/2 asks the client to connect anew: 0 to 0.02",
      probability,
      0,
    )
    .option(
      "--startup-send-retry-after-if-not-initialized",
      "honour X-Kubernetes-If-Ready until the server has been ready once",
    )
    .addOption(
      new Option(
        "--startup-if-ready-mode <mode>",
        "what that means: retry (default) refuses with 503 and Retry-After, report answers and says whether the server is ready",
      ).choices(["retry", "report"]),
    )
    .addOption(
      new Option("--log-level <level>", "what to log on standard error")
        .choices(["debug", "info", "warn", "error"])
        .default("warn"),
    );
}

function withCallerFlags(command: Command): Command {
  return command
    .option("--client-ca-file <file>", "CA whose client certificates name users: CN the user, O the groups")
    .option("--requestheader-client-ca-file <file>", "CA of front proxies and peers, which may speak for users")
    .option("--requestheader-allowed-names <names>", "common names of front proxies; without it all of that CA", list)
    .option("--requestheader-username-headers <names>", "headers with the user's name (default X-Remote-User)", list)
    .option("--requestheader-uid-headers <names>", "headers with the user's uid (default X-Remote-Uid)", list)
    .option("--requestheader-group-headers <names>", "headers with the user's groups (default X-Remote-Group)", list)
    .option(
      "--requestheader-extra-headers-prefix <prefixes>",
      "how headers about the user begin (default X-Remote-Extra-)",
      list,
    );
}

async function serve(flags: AllFlags): Promise<void> {
  const directory = resolve(flags.dataDir);
  // A command line that is wrong leaves no trace on the disk.
  configOf(flags, { directory, tokenFile: "" });
  requireBoth({ "--tls-cert-file": flags.tlsCertFile, "--tls-private-key-file": flags.tlsPrivateKeyFile });
  // Objects include Secrets: whatever this process writes is for its user only.
  process.umask(0o077);
  asUsable(() => ensureDirectory(directory), `the data directory ${directory} cannot be used`);
  const tokens =
    flags.tokenAuthFile === undefined
      ? ensureTokenFile(directory)
      : { text: readFile(flags.tokenAuthFile, "token file"), token: undefined };
  const serviceAccountKey = usesKeptKey(flags) ? keptServiceAccountKey(directory) : undefined;
  const made = { directory, tokenFile: tokens.text, serviceAccountKey };
  const credentials = credentialsOf(flags, configOf(flags, made), directory);
  const rootCa = flags.rootCaFile === undefined ? credentials.ca : readFile(flags.rootCaFile, "root CA");
  const env = createNodeEnv({ logLevel: flags.logLevel });
  const files = asUsable(() => openCredentialFiles(fileNamesOf(flags), env.log), "certificates cannot be used");
  const config = configOf(flags, { ...made, rootCa, authorities: files.authorities });
  const running = await startOrExplain(
    () =>
      startListening(env, config, {
        host: flags.bindAddress,
        port: flags.securePort,
        cert: credentials.cert,
        key: credentials.key,
        certificate: files.certificate,
      }),
    flags,
  );
  void files.follow(env.clock, new AbortController().signal);
  if (config.storage.kind === "etcd" && serviceAccountKey !== undefined)
    env.log.warn(
      "tokens of service accounts are signed with a key of this server's own: other servers on this etcd need it, see --service-account-signing-key-file",
      { file: serviceAccountKey.file },
    );
  stopOnSignals(running);
  const url = `https://${hostInUrl(flags.bindAddress)}:${running.port}`;
  const token = tokens.token ?? firstToken(tokens.text);
  const kubeconfig = writeKubeconfig(directory, { server: url, ca: credentials.ca, token });
  announce({ url, kubeconfig, config, directory });
  await running.server.ready;
  print("Ready.");
}

/** "Every address" is none a client can dial; this machine's own is among them. */
function hostInUrl(bindAddress: string): string {
  if (bindAddress === "0.0.0.0") return "127.0.0.1";
  if (bindAddress === "::") return "[::1]";
  return bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress;
}

interface Made extends Pick<ServerOptions, "rootCa" | "authorities"> {
  readonly directory: string;
  readonly tokenFile: string;
  readonly serviceAccountKey?: ReturnType<typeof keptServiceAccountKey> | undefined;
}

function configOf(flags: AllFlags, made: Made): ServerConfig {
  try {
    return resolveOptions({
      release: flags.release,
      strictRelease: flags.strictRelease ?? false,
      ...emulationOptionsOf(flags),
      ...(flags.runtimeConfig === undefined ? {} : { runtimeConfig: flags.runtimeConfig }),
      ...(flags.serviceEndpointOverride === undefined
        ? {}
        : { serviceEndpointOverrides: flags.serviceEndpointOverride }),
      ...(flags.featureGates === undefined ? {} : { featureGates: flags.featureGates }),
      ...(flags.controllers === undefined ? {} : { controllers: flags.controllers }),
      storage: storageOf(flags, made.directory),
      etcdPrefix: flags.etcdPrefix,
      tokenFile: made.tokenFile,
      ...(made.rootCa === undefined ? {} : { rootCa: made.rootCa }),
      ...(made.authorities === undefined ? {} : { authorities: made.authorities }),
      serviceAccounts: serviceAccountsOf(flags, made.serviceAccountKey),
      eventTtlSeconds: flags.eventTtl / 1000,
      requestTimeoutMs: flags.requestTimeout,
      maxRequestsInflight: flags.maxRequestsInflight,
      maxMutatingRequestsInflight: flags.maxMutatingRequestsInflight,
      compactionIntervalMs: flags.etcdCompactionInterval,
      ifReadyMode: ifReadyMode(flags),
      shutdown: {
        delayMs: flags.shutdownDelayDuration,
        sendRetryAfter: flags.shutdownSendRetryAfter ?? false,
        watchGraceMs: flags.shutdownWatchTerminationGracePeriod,
      },
      goawayChance: flags.goawayChance,
      serviceClusterIpRange: flags.serviceClusterIpRange,
      serviceNodePortRange: flags.serviceNodePortRange,
      advertise: { address: flags.advertiseAddress ?? reachableAddress(flags.bindAddress) },
      ...callersOf(flags),
      audit: auditOptionsOf(flags),
      access: { ...accessOptionsOf(flags), anonymousAuth: flags.anonymousAuth },
      peers: { ...peerOptionsOf(flags), ...peerAddressOf(flags) },
    });
  } catch (thrown) {
    if (thrown instanceof OptionError) throw new CommandFailure(thrown.message, 2);
    throw thrown;
  }
}

/** A mode of what is not on is a mistake. */
function ifReadyMode({ startupSendRetryAfterIfNotInitialized, startupIfReadyMode }: ServeFlags): IfReadyMode {
  if (startupSendRetryAfterIfNotInitialized === true) return startupIfReadyMode ?? "retry";
  if (startupIfReadyMode !== undefined)
    throw new OptionError("--startup-if-ready-mode needs --startup-send-retry-after-if-not-initialized");
  return "off";
}

function callersOf(flags: ServeFlags): Pick<ServerOptions, "clientCa" | "requestHeader"> {
  const { clientCaFile, requestheaderClientCaFile } = flags;
  return {
    ...(clientCaFile === undefined ? {} : { clientCa: readFile(clientCaFile, "client CA") }),
    requestHeader: {
      clientCa:
        requestheaderClientCaFile === undefined ? undefined : readFile(requestheaderClientCaFile, "request header CA"),
      allowedNames: flags.requestheaderAllowedNames,
      usernameHeaders: flags.requestheaderUsernameHeaders,
      uidHeaders: flags.requestheaderUidHeaders,
      groupHeaders: flags.requestheaderGroupHeaders,
      extraHeadersPrefix: flags.requestheaderExtraHeadersPrefix,
    },
  };
}

function fileNamesOf(flags: ServeFlags): CredentialFileNames {
  return {
    clientCaFile: flags.clientCaFile,
    requestHeaderClientCaFile: flags.requestheaderClientCaFile,
    hasAllowedNames: (flags.requestheaderAllowedNames ?? []).length > 0,
    tlsCertFile: flags.tlsCertFile,
    tlsKeyFile: flags.tlsPrivateKeyFile,
  };
}

/** The documented order: what was said for everybody, else where the server listens, else the host's own address. */
function peerAddressOf({ advertiseAddress, bindAddress }: ServeFlags): { address?: string } {
  if (advertiseAddress !== undefined) return { address: advertiseAddress };
  const listening = bindAddress === "0.0.0.0" || bindAddress === "::" ? reachableAddress(bindAddress) : bindAddress;
  return listening === undefined ? {} : { address: listening };
}

function storageOf(flags: ServeFlags, directory: string): StorageConfig {
  if (flags.etcdServers === undefined || flags.etcdServers.length === 0) return { kind: "embedded", directory };
  const { etcdCafile, etcdCertfile, etcdKeyfile } = flags;
  requireBoth({ "--etcd-certfile": etcdCertfile, "--etcd-keyfile": etcdKeyfile });
  const tls = {
    ...(etcdCafile === undefined ? {} : { ca: Buffer.from(readFile(etcdCafile, "etcd CA")) }),
    ...(etcdCertfile === undefined ? {} : { cert: Buffer.from(readFile(etcdCertfile, "etcd client certificate")) }),
    ...(etcdKeyfile === undefined ? {} : { key: Buffer.from(readFile(etcdKeyfile, "etcd client key")) }),
  };
  return { kind: "etcd", endpoints: flags.etcdServers, ...(Object.keys(tls).length === 0 ? {} : { tls }) };
}

/** Neither is fine too. */
function requireBoth(pair: Readonly<Record<string, string | undefined>>): void {
  const given = Object.values(pair).filter((value) => value !== undefined);
  if (given.length === 1) throw new CommandFailure(`${Object.keys(pair).join(" and ")} must be given together`, 2);
}

function credentialsOf(flags: ServeFlags, config: ServerConfig, directory: string): Credentials {
  const { tlsCertFile, tlsPrivateKeyFile } = flags;
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined) {
    // Clients come by the address they were given, by the advertised one, and from pods by the Service's.
    const { advertise, serviceClusterIpRange } = config;
    const addresses = [flags.bindAddress, advertise?.address, serviceClusterIpRange.nameAt(0)];
    return servingCredentials(
      directory,
      addresses.filter((one) => one !== undefined),
    );
  }
  const cert = readFile(tlsCertFile, "serving certificate");
  return { cert, key: readFile(tlsPrivateKeyFile, "serving key"), ca: cert };
}

async function startOrExplain(start: () => Promise<ListeningServer>, flags: ServeFlags): Promise<ListeningServer> {
  try {
    return await start();
  } catch (thrown) {
    if (thrown instanceof StorageError || thrown instanceof OptionError) throw new CommandFailure(thrown.message, 1);
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === "EADDRINUSE")
      throw new CommandFailure(
        `port ${flags.securePort} on ${flags.bindAddress} is already taken: choose another with --secure-port`,
        1,
      );
    if (code === "EACCES")
      throw new CommandFailure(
        `port ${flags.securePort} on ${flags.bindAddress} may not be used by this user: choose another with --secure-port`,
        1,
      );
    if (code === "EADDRNOTAVAIL")
      throw new CommandFailure(`this machine does not have the address ${flags.bindAddress}`, 1);
    if (code !== undefined && /^ERR_(OSSL|SSL|TLS|CRYPTO)/.test(code))
      throw new CommandFailure(`the serving certificate or its key cannot be used: ${(thrown as Error).message}`, 1);
    throw thrown;
  }
}

/** The first signal drains; the second does not wait. */
function stopOnSignals(running: ListeningServer): void {
  let isStopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      print("Stopping.");
      running.stop().then(
        () => process.exit(0),
        (thrown: unknown) => {
          process.stderr.write(
            `evenkeel: the server did not stop cleanly: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`,
          );
          process.exit(1);
        },
      );
    });
  }
}

function announce(what: { url: string; kubeconfig: string; config: ServerConfig; directory: string }): void {
  const { storage, release, version } = what.config;
  const as = version.binary === release ? release : `${version.binary}, emulating ${release},`;
  print(`Evenkeel is Kubernetes ${as} at ${what.url}`);
  print(`  kubectl:  export KUBECONFIG=${what.kubeconfig}`);
  print(
    `  objects:  ${storage.kind === "etcd" ? `in etcd at ${storage.endpoints.join(", ")}` : `in ${what.directory}`}`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
