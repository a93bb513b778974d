/**
 * Turns the options of a user or a program into a complete, validated configuration, or throws an OptionError that
 * describes the first invalid option in one sentence.
 */
import { parseServiceOverrides } from "../access/webhook-client/service-overrides.ts";
import type { ServiceOverrides } from "../access/webhook-client/service-resolver.ts";
import type { Catalog } from "../objects/catalog/catalog.ts";
import type { IgnoredGate } from "../objects/catalog/ignored-gates.ts";
import type { EffectiveVersion } from "../objects/catalog/effective-version.ts";
import type { ReleaseName } from "../objects/catalog/release.ts";
import { resolveRelease, type ReleaseOptions } from "../objects/catalog/release-options.ts";
import { NO_AUDIT, resolveAudit, type AuditConfig, type AuditGiven } from "../access/audit/options.ts";
import { parseTokenFile } from "../access/auth/authenticators/token-file.ts";
import type { IfReadyMode } from "../serving/http/filters/if-ready.ts";
import { parseEndpoints } from "../storage/kv-etcd/endpoints.ts";
import { encryptionFile, type EncryptionConfigFile, type EncryptionFile } from "./encryption.ts";
import { requestHeaderOptions, type RequestHeaderFlags } from "../access/auth/request-header-options.ts";
import { parseCertificates } from "../access/auth/client-certificates.ts";
import { certificateAuthorities, type CertificateAuthorities } from "../access/auth/reloading/authorities.ts";
import { fixedValue, type Reloading } from "../access/auth/reloading/reloading.ts";
import { serviceAccountOptions, type ServiceAccountFlags } from "../access/auth/service-accounts/options.ts";
import { resolveAccess, type AccessOptions, type AccessSettings } from "../access/access-config.ts";
import { enabledControllers, standingBack } from "../cluster/controller-runtime/enabled-controllers.ts";
import { STORAGE_VERSION_TYPE as STORAGE_VERSIONS } from "../cluster/storageversion/objects.ts";
import { CONTROLLERS, KUBE_CONTROLLER_MANAGER_CONTROLLERS } from "../cluster/controllers/controller-names.ts";
import { asOption, OptionError } from "../base/option-error.ts";
import { publishedEndpoint, type Advertise } from "./advertise.ts";
import { resolveServiceRanges, type ServiceRangeOptions, type ServiceRanges } from "./service-ranges.ts";
import {
  PEER_PROXY_GATE,
  resolvePeerOptions,
  type MemberConfig,
  type PeerConfig,
  type PeerOptions,
} from "../cluster/peers/peer-config.ts";

interface EtcdTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export type StorageConfig =
  | { readonly kind: "memory" }
  /** SQLite in this directory, which only one process at a time can open. */
  | { readonly kind: "embedded"; readonly directory: string }
  | { readonly kind: "etcd"; readonly endpoints: readonly string[]; readonly tls?: EtcdTls };

interface ShutdownConfig {
  /**
   * Minimum delay in ms during shutdown, from the moment at which /readyz fails until new requests are rejected.
   * Default 0.
   */
  readonly delayMs: number;
  /**
   * Whether the server keeps listening during shutdown until the last request has ended, and rejects new requests with
   * Retry-After. Default off.
   */
  readonly sendRetryAfter: boolean;
  /**
   * Period in ms over which watches are ended during shutdown, so that their clients do not all reconnect at once.
   * Default 0.
   */
  readonly watchGraceMs: number;
}

const DEFAULT_SHUTDOWN_OPTIONS: ShutdownConfig = { delayMs: 0, sendRetryAfter: false, watchGraceMs: 0 };

export interface ServerOptions extends ReleaseOptions, ServiceRangeOptions {
  readonly storage: StorageConfig;
  /** Key prefix in the store. Default "/registry". */
  readonly etcdPrefix?: string;
  /** The file with the EncryptionConfiguration. Default: nothing is encrypted. */
  readonly encryption?: EncryptionFile;
  /** Authentication, authorization, flow control and admission. */
  readonly access?: AccessOptions;
  /**
   * Certificate authorities that can change while the server runs. Default: `clientCa` and the CA of `requestHeader`,
   * which never change.
   */
  readonly authorities?: Reloading<CertificateAuthorities>;
  /** Issuer and keys of service account tokens. */
  readonly serviceAccounts?: ServiceAccountFlags;
  /** Audit policy and audit log. Default: no audit. */
  readonly audit?: AuditGiven;
  /** The content of a static token file. */
  readonly tokenFile?: string;
  /** PEM of the CA that signs the client certificates of users. */
  readonly clientCa?: string;
  /** The front proxies that may authenticate users, and the headers in which they send the user. */
  readonly requestHeader?: Omit<RequestHeaderFlags, "userCa">;
  /** How this server takes part in a cluster of several servers. */
  readonly peers?: PeerOptions;
  /** Time to live of Event objects, in seconds. Default 3600. */
  readonly eventTtlSeconds?: number;
  /** Time limit for every request except watches, in ms. Default 60000. */
  readonly requestTimeoutMs?: number;
  /**
   * Minimum duration of a watch without timeoutSeconds, in ms; it ends after a random time up to twice as long. Default
   * 1800000.
   */
  readonly minRequestTimeoutMs?: number;
  /** Limits of concurrent requests. 0 disables a limit, unless priority and fairness uses it. Default 400 and 200. */
  readonly maxRequestsInflight?: number;
  readonly maxMutatingRequestsInflight?: number;
  /**
   * Interval in ms at which the store is compacted to the revision that was current one interval before; 0 disables
   * compaction. Default 300000.
   */
  readonly compactionIntervalMs?: number;
  /** How the server handles X-Kubernetes-If-Ready. Default "off": it ignores the header. */
  readonly ifReadyMode?: IfReadyMode;
  readonly shutdown?: Partial<ShutdownConfig>;
  /** Probability, from 0 to 0.02, that the server closes an HTTP/2 connection after a response. Default 0. */
  readonly goawayChance?: number;
  /** Directives of the header Strict-Transport-Security. Default: no header. */
  readonly strictTransportSecurity?: readonly string[];
  /** Host name, or name:port, of this server in its documents. Default: the address on which it listens. */
  readonly externalHostname?: string;
  /** Whether pods may have privileged containers. Default true. */
  readonly allowPrivileged?: boolean;
  /** The version at /version, such as v1.36.4-custom. Default: that of the release, with the suffix +evenkeel. */
  readonly reportedVersion?: string;
  /**
   * As kube-controller-manager's --controllers: "*", "name", "-name". "auto" is "*", but controllers that
   * kube-controller-manager has as well stand back while it runs. Default "auto", but none for a strict release, because
   * kube-apiserver runs no controllers.
   */
  readonly controllers?: readonly string[];
  /** PEM of the CA that signs the serving certificates. It is published in every namespace. */
  readonly rootCa?: string;
  /**
   * As `--service-endpoint-override`: NAME.NAMESPACE=HOST:PORT, where HOST:PORT is used for the Service instead of its
   * endpoints.
   */
  readonly serviceEndpointOverrides?: readonly string[];
  /**
   * The address that the server publishes. Absent for a server without a listener, which then has no endpoint in the
   * kubernetes Service.
   */
  readonly advertise?: Advertise;
  /** As kube-apiserver's --endpoint-reconciler-type: "lease" or "none". Default "lease". */
  readonly endpointReconcilerType?: string;
}

/** Options that change only what clients see. */
interface ClientConfig {
  readonly strictTransportSecurity: readonly string[];
  readonly externalHostname: string | undefined;
  readonly allowPrivileged: boolean;
  readonly minRequestTimeoutMs: number;
  readonly reportedVersion: string | undefined;
}

declare const resolved: unique symbol;

/** A complete, validated configuration. Only `resolveOptions` and `withStoredCredentials` create one. */
export interface ServerConfig extends MemberConfig, AccessSettings, ServiceRanges, ClientConfig {
  readonly [resolved]: true;
  /** The release as which the server behaves. */
  readonly release: ReleaseName;
  /** The version of the binary, the release that it emulates, and how the emulation changes the served APIs. */
  readonly version: EffectiveVersion;
  readonly strictRelease: boolean;
  /** The resources that the release serves with this configuration. */
  readonly catalog: Catalog;
  /** The feature gates that were set and have no effect, because the release does not have them. */
  readonly ignoredGates: readonly IgnoredGate[];
  /** Whether clients can request the aggregated form of discovery: the feature gate AggregatedDiscoveryEndpoint. */
  readonly servesAggregatedDiscovery: boolean;
  /** Whether objects that cannot be read can be deleted: the feature gate AllowUnsafeMalformedObjectDeletion. */
  readonly allowsUnsafeDeletion: boolean;
  readonly storage: StorageConfig;
  /** Undefined if nothing is encrypted. */
  readonly encryption: EncryptionConfigFile | undefined;
  readonly audit: AuditConfig;
  /** Addresses that the server uses for Services instead of their endpoints. */
  readonly serviceOverrides: ServiceOverrides;
  readonly eventTtlSeconds: number;
  readonly compactionIntervalMs: number;
  readonly ifReadyMode: IfReadyMode;
  readonly shutdown: ShutdownConfig;
  readonly goawayChance: number;
  readonly controllers: ReadonlySet<string>;
  /** The controllers that stand back while kube-controller-manager runs. */
  readonly standingBack: ReadonlySet<string>;
  readonly rootCa: string | undefined;
}

export function resolveOptions(options: ServerOptions): ServerConfig {
  const { featureGates, gatesSet, ...ofRelease } = resolveRelease(options);
  const { version, strictRelease, catalog } = ofRelease;
  const flags = options.controllers ?? (strictRelease ? [] : ["auto"]);
  const controllers = asOption(() => enabledControllers(flags, CONTROLLERS));
  const { release } = version;
  const uses = usesStorageVersions({
    gate: gatesSet.get(STORAGE_VERSION_GATE),
    identity: gatesSet.get(IDENTITY_GATE),
    allAlpha: featureGates.get("AllAlpha"),
    isServed: catalog.resource(STORAGE_VERSIONS.group, STORAGE_VERSIONS.resource) !== undefined,
    strictRelease,
  });
  const peers = resolvePeerOptions({
    options: options.peers ?? {},
    release,
    strictRelease,
    gate: gatesSet.get(PEER_PROXY_GATE),
  });
  checkRoutingSource(peers, uses);
  return {
    ...ofRelease,
    release,
    isVersionAware: gatesSet.get(VERSION_GATE) ?? !strictRelease,
    storage: storage(options.storage),
    storageRoot: storageRoot(options.etcdPrefix ?? "/registry"),
    encryption: encryptionFile(options.encryption),
    access: resolveAccess(options.access ?? {}),
    audit: options.audit === undefined ? NO_AUDIT : asOption(() => resolveAudit(options.audit!)),
    serviceAccounts: asOption(() => serviceAccountOptions(options.serviceAccounts ?? {})),
    users: asOption(() => parseTokenFile(options.tokenFile ?? "")),
    ...callers(options),
    peers,
    eventTtlSeconds: positive(options.eventTtlSeconds ?? 3600, "the event TTL (--event-ttl)"),
    requestTimeoutMs: positive(options.requestTimeoutMs ?? 60_000, "the request timeout (--request-timeout)"),
    ...inFlightLimits(options),
    compactionIntervalMs: options.compactionIntervalMs ?? 5 * 60_000,
    ifReadyMode: options.ifReadyMode ?? "off",
    shutdown: { ...DEFAULT_SHUTDOWN_OPTIONS, ...options.shutdown },
    goawayChance: goawayChance(options.goawayChance ?? 0),
    ...clientOptions(options),
    ...resolveServiceRanges(options, release),
    published: publishedEndpoint(options.advertise, options.endpointReconcilerType),
    usesStorageVersions: uses,
    controllers,
    standingBack: standingBack(flags, KUBE_CONTROLLER_MANAGER_CONTROLLERS, controllers),
    rootCa: options.rootCa,
    serviceOverrides: asOption(() => serviceOverrides(options.serviceEndpointOverrides ?? [])),
  } satisfies Omit<ServerConfig, typeof resolved> as ServerConfig;
}

/**
 * Credentials that a command reads from its data directory or creates there. It does so only after it has validated all
 * other options.
 */
interface StoredCredentials extends Pick<ServerOptions, "serviceAccounts" | "rootCa" | "authorities"> {
  /** The content of a static token file. */
  readonly tokenFile: string;
}

export function withStoredCredentials(config: ServerConfig, kept: StoredCredentials): ServerConfig {
  const { serviceAccounts, tokenFile, rootCa, authorities } = kept;
  return {
    ...config,
    ...(serviceAccounts === undefined
      ? {}
      : { serviceAccounts: asOption(() => serviceAccountOptions(serviceAccounts)) }),
    users: asOption(() => parseTokenFile(tokenFile)),
    rootCa: rootCa ?? config.rootCa,
    authorities: authorities ?? config.authorities,
  };
}

function serviceOverrides(texts: readonly string[]): ServiceOverrides {
  const parsed = parseServiceOverrides(texts);
  if (!parsed.isValid) throw new Error(parsed.problems.join(" "));
  return parsed.overrides;
}

/**
 * Rejects a server that would route by StorageVersions without publishing its own, because it would never be ready to
 * route.
 */
function checkRoutingSource({ routingSource, isEnabled }: PeerConfig, registers: boolean): void {
  if (routingSource === "storageversion" && isEnabled && !registers)
    throw new OptionError(
      "--peer-routing-source=storageversion requires the feature gate StorageVersionAPI and its API: add --feature-gates=StorageVersionAPI=true and --runtime-config=internal.apiserver.k8s.io/v1alpha1=true",
    );
}

function callers({
  clientCa,
  requestHeader,
  authorities,
}: ServerOptions): Pick<ServerConfig, "clientCa" | "requestHeader" | "authorities"> {
  return asOption(() => {
    if (clientCa !== undefined) parseCertificates(clientCa);
    if (requestHeader?.clientCa !== undefined) parseCertificates(requestHeader.clientCa);
    const headers = requestHeaderOptions({ clientCa: undefined, ...requestHeader, userCa: clientCa });
    const hasAllowedNames = (headers?.allowedNames.length ?? 0) > 0;
    const named = { users: clientCa, frontProxies: headers?.clientCa, hasAllowedNames };
    return {
      clientCa,
      requestHeader: headers,
      authorities: authorities ?? fixedValue(certificateAuthorities(named)),
    };
  });
}

function storage(config: StorageConfig): StorageConfig {
  if (config.kind === "etcd") asOption(() => parseEndpoints(config.endpoints));
  return config;
}

function storageRoot(prefix: string): string {
  if (!/^\/[A-Za-z0-9._/-]*$/.test(prefix))
    throw new OptionError(
      `the etcd prefix (--etcd-prefix) must be a path such as /registry, not ${JSON.stringify(prefix)}`,
    );
  return `${prefix.replace(/\/+$/, "")}/`;
}

function goawayChance(chance: number): number {
  if (!(chance >= 0 && chance <= 0.02))
    throw new OptionError("--goaway-chance can not be less than 0 or greater than 0.02");
  return chance;
}

function clientOptions({
  strictTransportSecurity = [],
  externalHostname,
  allowPrivileged = true,
  minRequestTimeoutMs = 1_800_000,
  reportedVersion,
}: ServerOptions): ClientConfig {
  return {
    strictTransportSecurity: transportSecurity(strictTransportSecurity),
    externalHostname: externalHostname === "" ? undefined : externalHostname,
    allowPrivileged,
    minRequestTimeoutMs: positive(minRequestTimeoutMs, "the minimum request timeout (--min-request-timeout)"),
    reportedVersion,
  };
}

/** As kubernetes: each directive is includeSubDomains, preload or max-age=SECONDS. */
function transportSecurity(directives: readonly string[]): readonly string[] {
  for (const directive of directives)
    if (!/^(includeSubDomains|preload|max-age=[0-9]{1,15})$/.test(directive))
      throw new OptionError(
        `--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload, not ${JSON.stringify(directive.slice(0, 100))}`,
      );
  return directives;
}

function inFlightLimits({
  maxRequestsInflight = 400,
  maxMutatingRequestsInflight = 200,
  access = {},
}: ServerOptions): Pick<ServerConfig, "maxRequestsInflight" | "maxMutatingRequestsInflight"> {
  const sum = maxRequestsInflight + maxMutatingRequestsInflight;
  if (!Number.isFinite(sum) || maxRequestsInflight < 0 || maxMutatingRequestsInflight < 0)
    throw new OptionError("the maximum numbers of requests in flight must not be negative");
  // As kubernetes: priority and fairness divides the sum of both.
  if (sum === 0 && access.priorityAndFairness !== false)
    throw new OptionError(
      "--max-requests-inflight and --max-mutating-requests-inflight must add up to a positive number, because priority and fairness divides it",
    );
  return { maxRequestsInflight, maxMutatingRequestsInflight };
}

function positive(value: number, what: string): number {
  if (!Number.isFinite(value) || value <= 0) throw new OptionError(`${what} must be greater than zero, not ${value}`);
  return value;
}

const STORAGE_VERSION_GATE = "StorageVersionAPI";
const IDENTITY_GATE = "APIServerIdentity";
/** A feature gate of Evenkeel; Kubernetes has no gate with this name. */
const VERSION_GATE = "VersionAwareProxying";

/**
 * Whether the server publishes StorageVersions. Throws if the options contradict each other: a server that publishes
 * StorageVersions without serving their API would never become ready.
 */
function usesStorageVersions(from: {
  /** The value set by --feature-gates; undefined if it sets none. */
  readonly gate: boolean | undefined;
  readonly identity: boolean | undefined;
  readonly allAlpha: boolean | undefined;
  readonly isServed: boolean;
  readonly strictRelease: boolean;
}): boolean {
  const { gate, identity, allAlpha, isServed, strictRelease } = from;
  if (gate === true && !isServed)
    throw new OptionError(
      `the feature gate ${STORAGE_VERSION_GATE} requires its API: add --runtime-config=internal.apiserver.k8s.io/v1alpha1=true`,
    );
  if (gate === true && identity === false)
    throw new OptionError(`the feature gate ${STORAGE_VERSION_GATE} requires the feature gate ${IDENTITY_GATE}`);
  return gate ?? (isServed && identity !== false && (!strictRelease || allAlpha === true));
}
