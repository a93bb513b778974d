/** Turns the flags of `serve` into the configuration of a server. It writes nothing, so that invalid flags leave no traces. */
import { OptionError } from "../../base/option-error.ts";
import { resolveOptions, type ServerConfig, type ServerOptions, type StorageConfig } from "../../server/config.ts";
import type { IfReadyMode } from "../../serving/http/filters/if-ready.ts";
import { serveAccessOptionsOf, type ServeAccessFlags } from "./access-flags.ts";
import { auditOptionsOf, type AuditFlags } from "./audit-flags.ts";
import { serviceAccountsOf, type CredentialFlags } from "./credential-flags.ts";
import { CommandFailure } from "./failure.ts";
import { peerOptionsOf, type PeerFlags } from "./peer-flags.ts";
import { requireSome } from "./etcd-servers.ts";
import { reachableAddress } from "./reachable-address.ts";
import { checkKeyPair, readBoundedFile, readCertificates } from "./read-file.ts";
import type { ServeFlags } from "./serve-flags.ts";
import { emulationOptionsOf, versionRequest, type VersionFlags } from "./version-flags.ts";

export type AllFlags = ServeFlags & ServeAccessFlags & AuditFlags & CredentialFlags & PeerFlags & VersionFlags;

/** Resolves the flags. If that fails, the command fails with all problems that are known. */
export function checkedConfig(flags: AllFlags, directory: string, known: readonly string[]): ServerConfig {
  const problems = [...known];
  try {
    const config = configOf(flags, directory);
    requireBoth({ "--tls-cert-file": flags.tlsCertFile, "--tls-private-key-file": flags.tlsPrivateKeyFile });
    if (problems.length === 0) return config;
  } catch (thrown) {
    if (problems.length === 0 || !(thrown instanceof CommandFailure)) throw thrown;
    problems.push(thrown.message);
  }
  throw new CommandFailure(problems.join("\nevenkeel: "), 2);
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
      ...encryptionOf(flags),
      serviceAccounts: serviceAccountsOf(flags, undefined),
      eventTtlSeconds: flags.eventTtl / 1000,
      requestTimeoutMs: flags.requestTimeout,
      maxRequestsInflight: flags.maxRequestsInflight,
      maxMutatingRequestsInflight: flags.maxMutatingRequestsInflight,
      minRequestTimeoutMs: flags.minRequestTimeout * 1000,
      compactionIntervalMs: flags.etcdCompactionInterval,
      ifReadyMode: ifReadyMode(flags),
      shutdown: {
        delayMs: flags.shutdownDelayDuration,
        sendRetryAfter: flags.shutdownSendRetryAfter ?? false,
        watchGraceMs: flags.shutdownWatchTerminationGracePeriod,
      },
      goawayChance: flags.goawayChance,
      strictTransportSecurity: flags.strictTransportSecurityDirectives ?? [],
      allowPrivileged: flags.allowPrivileged,
      ...(flags.externalHostname === undefined ? {} : { externalHostname: flags.externalHostname }),
      ...reportedVersionOf(flags),
      serviceClusterIpRange: flags.serviceClusterIpRange,
      serviceNodePortRange: flags.serviceNodePortRange,
      advertise: {
        address: flags.advertiseAddress ?? reachableAddress(flags.bindAddress),
        ...(flags.advertisePort === undefined ? {} : { port: flags.advertisePort }),
      },
      endpointReconcilerType: flags.endpointReconcilerType,
      ...callersOf(flags),
      audit: auditOptionsOf(flags),
      access: serveAccessOptionsOf(flags),
      peers: { ...peerOptionsOf(flags), ...peerAddressOf(flags) },
    }),
  );
}

/** Much more than the limits of its entries allow in practice. */
const ENCRYPTION_FILE_BYTES_MAX = 1024 * 1024;

function encryptionOf(flags: ServeFlags): Pick<ServerOptions, "encryption"> {
  const { encryptionProviderConfig: file, encryptionProviderConfigAutomaticReload: reloads = false } = flags;
  const what = "encryption configuration (--encryption-provider-config)";
  const read = (name: string): string => readBoundedFile(name, what, ENCRYPTION_FILE_BYTES_MAX);
  if (file !== undefined) return { encryption: { read: () => read(file), reloads } };
  if (reloads)
    throw new CommandFailure("--encryption-provider-config-automatic-reload requires --encryption-provider-config", 1);
  return {};
}

function reportedVersionOf(flags: VersionFlags): Pick<ServerOptions, "reportedVersion"> {
  const requested = versionRequest(flags);
  return typeof requested === "object" ? { reportedVersion: requested.reported } : {};
}

export function asCommand<T>(work: () => T): T {
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
    ...(clientCaFile === undefined ? {} : { clientCa: readCertificates(clientCaFile, "client CA (--client-ca-file)") }),
    requestHeader: {
      clientCa:
        requestheaderClientCaFile === undefined
          ? undefined
          : readCertificates(requestheaderClientCaFile, "request header CA (--requestheader-client-ca-file)"),
      allowedNames: flags.requestheaderAllowedNames,
      usernameHeaders: flags.requestheaderUsernameHeaders,
      uidHeaders: flags.requestheaderUidHeaders,
      groupHeaders: flags.requestheaderGroupHeaders,
      extraHeadersPrefix: flags.requestheaderExtraHeadersPrefix,
    },
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
  const { etcdServers, etcdCafile, etcdCertfile, etcdKeyfile } = flags;
  if (etcdServers === undefined) {
    requireEtcd({ "--etcd-cafile": etcdCafile, "--etcd-certfile": etcdCertfile, "--etcd-keyfile": etcdKeyfile });
    return { kind: "embedded", directory };
  }
  requireSome(etcdServers);
  const pair = checkKeyPair("etcd client", { "--etcd-certfile": etcdCertfile, "--etcd-keyfile": etcdKeyfile });
  const tls = {
    ...(etcdCafile === undefined ? {} : { ca: Buffer.from(readCertificates(etcdCafile, "etcd CA (--etcd-cafile)")) }),
    ...(pair === undefined ? {} : { cert: Buffer.from(pair.cert), key: Buffer.from(pair.key) }),
  };
  return { kind: "etcd", endpoints: etcdServers, ...(Object.keys(tls).length === 0 ? {} : { tls }) };
}

/** The etcd servers to which the connection is not encrypted, although the flags name certificates for it. */
export function etcdServersInClear(
  flags: Pick<ServeFlags, "etcdServers" | "etcdCafile" | "etcdCertfile">,
): readonly string[] {
  const { etcdServers = [], etcdCafile, etcdCertfile } = flags;
  if (etcdCafile === undefined && etcdCertfile === undefined) return [];
  return etcdServers.filter((url) => url.startsWith("http:"));
}

/** Fails if a flag for the connection to etcd is set, because the server would use the embedded store. */
function requireEtcd(files: Readonly<Record<string, string | undefined>>): void {
  const given = Object.entries(files).flatMap(([flag, file]) => (file === undefined ? [] : [flag]));
  if (given.length > 0) throw new CommandFailure(`${given.join(", ")}: set --etcd-servers, too`, 2);
}

/** Fails if only one of the two flags is set. */
function requireBoth(pair: Readonly<Record<string, string | undefined>>): void {
  const given = Object.values(pair).filter((value) => value !== undefined);
  if (given.length === 1) throw new CommandFailure(`${Object.keys(pair).join(" and ")} must be given together`, 2);
}
