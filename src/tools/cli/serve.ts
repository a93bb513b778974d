/** `evenkeel serve`: runs one API server. */
import type { EmulationOptions } from "../../objects/catalog/effective-version.ts";
import { stopOnSignals } from "./stop-on-signals.ts";
import type { IfReadyMode } from "../../serving/http/filters/if-ready.ts";
import { resolve } from "node:path";
import { Command } from "commander";
import { makeDirectory } from "../../base/make-directory.ts";
import {
  resolveOptions,
  withStoredCredentials,
  type ServerConfig,
  type ServerOptions,
  type StorageConfig,
} from "../../server/config.ts";
import { OptionError } from "../../base/option-error.ts";
import { createNodeEnv } from "../../server/env-node.ts";
import type { Env } from "../../server/env.ts";
import { startListening, type ListeningServer } from "../../server/listener.ts";
import { openSqliteKv } from "../../storage/kv-sqlite/kv.ts";
import { StorageError, type Kv } from "../../storage/kv.ts";
import {
  ensureTokenFile,
  firstToken,
  servingCredentials,
  writeKubeconfig,
  type ServingCredentials,
} from "./data-directory.ts";
import { auditOptionsOf, withAuditFlags, type AuditFlags } from "./audit-flags.ts";
import { openCredentialFiles, type CredentialFileNames } from "../../access/auth/reloading/credential-files.ts";
import {
  ensureServiceAccountKey,
  serviceAccountsOf,
  usesGeneratedKey,
  withCredentialFlags,
  type CredentialFlags,
} from "./credential-flags.ts";
import { CommandFailure } from "./failure.ts";
import { accessOptionsOf, withAccessFlags, type AccessFlags } from "./access-flags.ts";
import { peerOptionsOf, withPeerFlags, type PeerFlags } from "./peer-flags.ts";
import { asUsable, readCertificates, readFile } from "./read-file.ts";
import { reachableAddress } from "./reachable-address.ts";
import { emulationOptionsOf, withVersionFlags } from "./version-flags.ts";
import { withCallerFlags, withLifecycleFlags, withServeFlags, type ServeFlags } from "./serve-flags.ts";

type AllFlags = ServeFlags & AccessFlags & AuditFlags & CredentialFlags & PeerFlags & EmulationOptions;

export function serveCommand(): Command {
  const command = new Command("serve")
    .summary("Run one API server")
    .description("Run one API server. Flags that it shares with kube-apiserver have the same names.");
  const alone = withLifecycleFlags(withVersionFlags(withServeFlags(command)));
  const known = withAccessFlags(withCredentialFlags(withCallerFlags(alone)));
  return withPeerFlags(withAuditFlags(known)).action((flags: AllFlags) => serve(flags));
}

async function serve(flags: AllFlags): Promise<void> {
  const directory = resolve(flags.dataDir);
  // Invalid flags fail before anything is written to the disk.
  const checked = configOf(flags, directory);
  requireBoth({ "--tls-cert-file": flags.tlsCertFile, "--tls-private-key-file": flags.tlsPrivateKeyFile });
  // Objects include Secrets: only the user of this process may read its files.
  process.umask(0o077);
  const env = createNodeEnv({ logLevel: flags.logLevel });
  const named = readNamedFiles(flags, env);
  asUsable(() => makeDirectory(directory), unusable(directory));
  // The store locks the directory, so it is opened before this process writes any file that another process may use.
  const kv = checked.storage.kind === "embedded" ? await openStore(directory, env) : undefined;
  const parts = { flags, checked, directory, named, env: kv === undefined ? env : { ...env, openKv: async () => kv } };
  const { running, config, ca, token } = await startServer(parts).catch(async (thrown: unknown) => {
    await kv?.close();
    throw thrown;
  });
  stopOnSignals({ what: "the server", stop: () => running.stop(), onStopping: () => print("Stopping.") });
  const url = `https://${hostInUrl(flags.bindAddress)}:${running.port}`;
  const kubeconfig = writeKubeconfig(directory, { server: url, ca, token });
  announce({ url, kubeconfig, config, directory });
  await running.server.ready;
  print("Ready.");
}

async function openStore(directory: string, { clock }: Env): Promise<Kv> {
  try {
    return await openSqliteKv({ directory, holder: "evenkeel serve", clock });
  } catch (thrown) {
    if (thrown instanceof StorageError) throw new CommandFailure(thrown.message, 1);
    throw thrown;
  }
}

interface NamedFiles {
  /**
   * `tokens`, `credentials` and `rootCa` are read from the files that flags name. Each is undefined if its flag is not
   * set; its default then applies.
   */
  readonly tokens: string | undefined;
  readonly credentials: ServingCredentials | undefined;
  readonly rootCa: string | undefined;
  readonly followed: ReturnType<typeof openCredentialFiles>;
}

function readNamedFiles(flags: AllFlags, { log }: Env): NamedFiles {
  return {
    tokens: flags.tokenAuthFile === undefined ? undefined : readFile(flags.tokenAuthFile, "token file"),
    credentials: namedCredentials(flags),
    rootCa: flags.rootCaFile === undefined ? undefined : readCertificates(flags.rootCaFile, "root CA"),
    followed: asUsable(() => openCredentialFiles(fileNamesOf(flags), log), unusableFiles(flags)),
  };
}

interface StartParts {
  readonly flags: AllFlags;
  /** The configuration without the credentials in the data directory. */
  readonly checked: ServerConfig;
  readonly directory: string;
  readonly named: NamedFiles;
  readonly env: Env;
}

interface Started {
  readonly running: ListeningServer;
  readonly config: ServerConfig;
  /** The CA of the server's certificate and the first user's token, for the kubeconfig. */
  readonly ca: string;
  readonly token: string;
}

async function startServer({ flags, checked, directory, named, env }: StartParts): Promise<Started> {
  const inDirectory = <T>(work: () => T): T => asUsable(work, unusable(directory));
  const tokenFile = named.tokens ?? inDirectory(() => ensureTokenFile(directory).text);
  const serviceAccountKey = usesGeneratedKey(flags) ? inDirectory(() => ensureServiceAccountKey(directory)) : undefined;
  const addresses = servingAddresses(flags, checked);
  const credentials = named.credentials ?? inDirectory(() => servingCredentials(directory, addresses));
  const { followed, rootCa = credentials.ca } = named;
  const config = asCommand(() =>
    withStoredCredentials(checked, {
      tokenFile,
      serviceAccounts: serviceAccountsOf(flags, serviceAccountKey),
      rootCa,
      authorities: followed.authorities,
    }),
  );
  const running = await startWithClearErrors(
    () =>
      startListening(env, config, {
        host: flags.bindAddress,
        port: flags.securePort,
        cert: credentials.cert,
        key: credentials.key,
        certificate: followed.certificate,
      }),
    flags,
  );
  void followed.follow(env.clock, new AbortController().signal);
  if (config.storage.kind === "etcd" && serviceAccountKey !== undefined)
    env.log.warn(
      "service account tokens are signed with a key of this server; set --service-account-signing-key-file to the same key on all servers of this etcd",
      { file: serviceAccountKey.file },
    );
  return { running, config, ca: credentials.ca, token: firstToken(tokenFile) };
}

/**
 * The host in the URL for clients. They cannot connect to an unspecified address such as 0.0.0.0, so it is replaced by
 * the loopback address.
 */
function hostInUrl(bindAddress: string): string {
  if (bindAddress === "0.0.0.0") return "127.0.0.1";
  if (bindAddress === "::") return "[::1]";
  return bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress;
}

/**
 * Resolves the flags once, before anything is written. `withStoredCredentials` adds the credentials in the data
 * directory.
 */
function configOf(flags: AllFlags, directory: string): ServerConfig {
  return asCommand(() =>
    resolveOptions({
      release: flags.release,
      strictRelease: flags.strictRelease ?? false,
      ...emulationOptionsOf(flags),
      ...(flags.runtimeConfig === undefined ? {} : { runtimeConfig: flags.runtimeConfig }),
      ...(flags.serviceEndpointOverride === undefined
        ? {}
        : { serviceEndpointOverrides: flags.serviceEndpointOverride }),
      ...(flags.featureGates === undefined ? {} : { featureGates: flags.featureGates }),
      ...(flags.controllers === undefined ? {} : { controllers: flags.controllers }),
      storage: storageOf(flags, directory),
      etcdPrefix: flags.etcdPrefix,
      serviceAccounts: serviceAccountsOf(flags, undefined),
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
      endpointReconcilerType: flags.endpointReconcilerType,
      ...callersOf(flags),
      audit: auditOptionsOf(flags),
      access: { ...accessOptionsOf(flags), anonymousAuth: flags.anonymousAuth },
      peers: { ...peerOptionsOf(flags), ...peerAddressOf(flags) },
    }),
  );
}

function asCommand<T>(work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof OptionError) throw new CommandFailure(thrown.message, 2);
    throw thrown;
  }
}

/** The mode of X-Kubernetes-If-Ready. It is an error to set the mode without the flag that enables the header. */
function ifReadyMode({ startupSendRetryAfterIfNotInitialized, startupIfReadyMode }: ServeFlags): IfReadyMode {
  if (startupSendRetryAfterIfNotInitialized === true) return startupIfReadyMode ?? "retry";
  if (startupIfReadyMode !== undefined)
    throw new OptionError("--startup-if-ready-mode needs --startup-send-retry-after-if-not-initialized");
  return "off";
}

function callersOf(flags: ServeFlags): Pick<ServerOptions, "clientCa" | "requestHeader"> {
  const { clientCaFile, requestheaderClientCaFile } = flags;
  return {
    ...(clientCaFile === undefined ? {} : { clientCa: readCertificates(clientCaFile, "client CA") }),
    requestHeader: {
      clientCa:
        requestheaderClientCaFile === undefined
          ? undefined
          : readCertificates(requestheaderClientCaFile, "request header CA"),
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

/**
 * The address for peers, in the documented order: the advertised address, else the bind address, else an address of the
 * host.
 */
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

/** Fails if only one of the two flags is set. */
function requireBoth(pair: Readonly<Record<string, string | undefined>>): void {
  const given = Object.values(pair).filter((value) => value !== undefined);
  if (given.length === 1) throw new CommandFailure(`${Object.keys(pair).join(" and ")} must be given together`, 2);
}

/**
 * The addresses that the certificate must contain: clients use the bind address, the advertised address, or (from pods)
 * the address of the Service.
 */
function servingAddresses({ bindAddress }: ServeFlags, { published, serviceClusterIpRanges }: ServerConfig): string[] {
  return [bindAddress, published?.address, serviceClusterIpRanges[0].nameAt(0)].filter((one) => one !== undefined);
}

/** The serving certificate that flags name; undefined if they name none. */
function namedCredentials({ tlsCertFile, tlsPrivateKeyFile }: ServeFlags): ServingCredentials | undefined {
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined) return undefined;
  const cert = readFile(tlsCertFile, "serving certificate");
  return { cert, key: readFile(tlsPrivateKeyFile, "serving key"), ca: cert };
}

/**
 * The message about files that cannot be used. It does not mention CA files, because these have been checked before.
 */
function unusableFiles({ tlsCertFile, tlsPrivateKeyFile }: ServeFlags): string {
  if (tlsCertFile === undefined) return "certificates cannot be used";
  return `the serving certificate ${tlsCertFile} and its key ${tlsPrivateKeyFile} cannot be used`;
}

async function startWithClearErrors(
  start: () => Promise<ListeningServer>,
  flags: ServeFlags,
): Promise<ListeningServer> {
  try {
    return await start();
  } catch (thrown) {
    if (thrown instanceof StorageError || thrown instanceof OptionError) throw new CommandFailure(thrown.message, 1);
    const code = (thrown as NodeJS.ErrnoException).code;
    if (code === "EADDRINUSE")
      throw new CommandFailure(
        `port ${flags.securePort} on ${flags.bindAddress} is already in use: choose another with --secure-port`,
        1,
      );
    if (code === "EACCES")
      throw new CommandFailure(
        `permission denied for port ${flags.securePort} on ${flags.bindAddress}: choose another with --secure-port`,
        1,
      );
    if (code === "EADDRNOTAVAIL")
      throw new CommandFailure(`this machine does not have the address ${flags.bindAddress}`, 1);
    if (code !== undefined && /^ERR_(OSSL|SSL|TLS|CRYPTO)/.test(code))
      throw new CommandFailure(`the serving certificate or its key cannot be used: ${(thrown as Error).message}`, 1);
    // The message already names what the operating system rejected, for example the path of the audit log.
    if (thrown instanceof Error && isSystemError(thrown.cause)) throw new CommandFailure(thrown.message, 1);
    throw thrown;
  }
}

function unusable(directory: string): string {
  return `the data directory ${directory} cannot be used`;
}

function isSystemError(cause: unknown): boolean {
  return cause instanceof Error && "syscall" in cause;
}

function announce(what: { url: string; kubeconfig: string; config: ServerConfig; directory: string }): void {
  const { storage, release, version } = what.config;
  const as = version.binary === release ? release : `${version.binary}, emulating ${release},`;
  print(`Serving Kubernetes ${as} at ${what.url}`);
  print(`  kubectl:  export KUBECONFIG=${what.kubeconfig}`);
  print(
    `  objects:  ${storage.kind === "etcd" ? `in etcd at ${storage.endpoints.join(", ")}` : `in ${what.directory}`}`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
