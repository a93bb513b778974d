/** Options as people give them become a complete configuration here, or one clear sentence about what is wrong. */
import { parseServiceOverrides } from "../access/webhook-client/service-overrides.ts";
import type { ServiceOverrides } from "../access/webhook-client/service-resolver.ts";
import type { Catalogue } from "../objects/catalogue/catalogue.ts";
import type { EffectiveVersion } from "../objects/catalogue/effective-version.ts";
import type { ReleaseName } from "../objects/catalogue/release.ts";
import { resolveRelease, type ReleaseOptions } from "../objects/catalogue/release-options.ts";
import { NO_AUDIT, resolveAudit, type AuditConfig, type AuditGiven } from "../access/audit/options.ts";
import { parseTokenFile } from "../access/auth/authenticators/token-file.ts";
import type { IfReadyMode } from "../serving/http/filters/if-ready.ts";
import { parseIpRange, type IpRange } from "../cluster/allocation/ip-range.ts";
import type { NumberRange } from "../cluster/allocation/number-range.ts";
import { parsePortRange } from "../cluster/allocation/port-range.ts";
import { parseEndpoints } from "../storage/kv-etcd/endpoints.ts";
import { requestHeaderOptions, type RequestHeaderFlags } from "../access/auth/request-header-options.ts";
import { parseCertificates } from "../access/auth/client-certificates.ts";
import { certificateAuthorities, type CertificateAuthorities } from "../access/auth/reloading/authorities.ts";
import { fixedValue, type Reloading } from "../access/auth/reloading/reloading.ts";
import { serviceAccountOptions, type ServiceAccountFlags } from "../access/auth/service-accounts/options.ts";
import { resolveAccess, type AccessOptions, type AccessSettings } from "../access/access-config.ts";
import { enabledControllers } from "../cluster/controller-runtime/enabled-controllers.ts";
import { STORAGE_VERSION_TYPE as STORAGE_VERSIONS } from "../cluster/storageversion/objects.ts";
import { CONTROLLERS } from "../cluster/controllers/controller-names.ts";
import { asOption, OptionError } from "../base/option-error.ts";
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
  /** SQLite in this directory: one server. */
  | { readonly kind: "embedded"; readonly directory: string }
  | { readonly kind: "etcd"; readonly endpoints: readonly string[]; readonly tls?: EtcdTls };

interface ShutdownConfig {
  /** Between "not ready any more" and the first refused request, in ms. Default none. */
  readonly delayMs: number;
  /** Go on listening until the last request has ended, and tell whoever comes meanwhile to come again elsewhere. Default off. */
  readonly sendRetryAfter: boolean;
  /** Over which time watches are ended, so that their clients do not come back all at once, in ms. Default none. */
  readonly watchGraceMs: number;
}

const DEFAULT_SHUTDOWN_OPTIONS: ShutdownConfig = { delayMs: 0, sendRetryAfter: false, watchGraceMs: 0 };

/** How the rest of the cluster reaches the server. */
interface Advertise {
  /** Undefined when there is no address other machines could use: then nothing stands behind the Service. */
  readonly address: string | undefined;
}

export interface ServerOptions extends ReleaseOptions {
  readonly storage: StorageConfig;
  /** Where everything lies in the store. Default "/registry". */
  readonly etcdPrefix?: string;
  /** Who may ask, what for, and who is asked before something is written. */
  readonly access?: AccessOptions;
  /** As they may be replaced while the server runs. Default: those of `clientCa` and `requestHeader`, for ever. */
  readonly authorities?: Reloading<CertificateAuthorities>;
  /** Who issues tokens of service accounts, and whose are accepted. */
  readonly serviceAccounts?: ServiceAccountFlags;
  /** What is recorded of requests, and where. Default: nothing. */
  readonly audit?: AuditGiven;
  /** The text of a token file. */
  readonly tokenFile?: string;
  /** PEM of the CA whose client certificates name users. */
  readonly clientCa?: string;
  /** Who may speak for users, and in which headers. */
  readonly requestHeader?: Omit<RequestHeaderFlags, "userCa">;
  /** The part this server has in a cluster of several. */
  readonly peers?: PeerOptions;
  /** How long Event objects live, in seconds. Default one hour. */
  readonly eventTtlSeconds?: number;
  /** Everything but watches is answered within this time. Default one minute. */
  readonly requestTimeoutMs?: number;
  readonly maxRequestsInflight?: number;
  readonly maxMutatingRequestsInflight?: number;
  /** How often history older than this is forgotten, in ms; 0 never. Default five minutes. */
  readonly compactionIntervalMs?: number;
  /** What X-Kubernetes-If-Ready means here. Default off: it is not understood. */
  readonly ifReadyMode?: IfReadyMode;
  /** How a shutdown goes. */
  readonly shutdown?: Partial<ShutdownConfig>;
  /** How likely an answer by HTTP/2 is to be the last of its connection, 0 … 0.02. Default 0. */
  readonly goawayChance?: number;
  /** The subnet cluster IPs are taken from. Default "10.0.0.0/24". */
  readonly serviceClusterIpRange?: string;
  /** The ports node ports are taken from. Default "30000-32767". */
  readonly serviceNodePortRange?: string;
  /** As kube-controller-manager: "*", "name", "-name". Default "*", and none for a strict release, which has none. */
  readonly controllers?: readonly string[];
  /** PEM of the CA of the serving certificates, to be published in every namespace. */
  readonly rootCa?: string;
  /** As `--service-endpoint-override`: NAME.NAMESPACE=HOST:PORT of services that are reached there. */
  readonly serviceEndpointOverrides?: readonly string[];
  /** For a server that will listen and announce where. Absent: it has no listener, and no Service to be found by. */
  readonly advertise?: Advertise;
}

declare const resolved: unique symbol;

/** Complete and checked: only `resolveOptions` makes one. */
export interface ServerConfig extends MemberConfig, AccessSettings {
  readonly [resolved]: true;
  /** The release the server behaves as. */
  readonly release: ReleaseName;
  /** The release whose code it is, which differs while it emulates another; and what that means for its APIs. */
  readonly version: EffectiveVersion;
  readonly strictRelease: boolean;
  /** What the release serves with this configuration. */
  readonly catalogue: Catalogue;
  readonly storage: StorageConfig;
  readonly audit: AuditConfig;
  /** Addresses of Services that their endpoints do not lead to. */
  readonly serviceOverrides: ServiceOverrides;
  readonly eventTtlSeconds: number;
  readonly compactionIntervalMs: number;
  readonly ifReadyMode: IfReadyMode;
  readonly shutdown: ShutdownConfig;
  readonly goawayChance: number;
  readonly serviceClusterIpRange: IpRange;
  readonly serviceNodePortRange: NumberRange;
  readonly advertise: Advertise | undefined;
  readonly controllers: ReadonlySet<string>;
  readonly rootCa: string | undefined;
}

export function resolveOptions(options: ServerOptions): ServerConfig {
  const { version, strictRelease, featureGates, gatesSet, catalogue } = resolveRelease(options);
  const { release } = version;
  const uses = usesStorageVersions({
    gate: gatesSet.get(STORAGE_VERSION_GATE),
    identity: gatesSet.get(IDENTITY_GATE),
    allAlpha: featureGates.get("AllAlpha"),
    isServed: catalogue.resource(STORAGE_VERSIONS.group, STORAGE_VERSIONS.resource) !== undefined,
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
    release,
    version,
    isVersionAware: gatesSet.get(VERSION_GATE) ?? !strictRelease,
    strictRelease,
    catalogue,
    storage: storage(options.storage),
    storageRoot: storageRoot(options.etcdPrefix ?? "/registry"),
    access: resolveAccess(options.access ?? {}),
    audit: options.audit === undefined ? NO_AUDIT : asOption(() => resolveAudit(options.audit!)),
    serviceAccounts: asOption(() => serviceAccountOptions(options.serviceAccounts ?? {})),
    users: asOption(() => parseTokenFile(options.tokenFile ?? "")),
    ...callers(options),
    peers,
    eventTtlSeconds: positive(options.eventTtlSeconds ?? 3600, "the lifetime of events"),
    requestTimeoutMs: positive(options.requestTimeoutMs ?? 60_000, "the request timeout"),
    maxRequestsInflight: positive(options.maxRequestsInflight ?? 400, "the number of requests in flight"),
    maxMutatingRequestsInflight: positive(
      options.maxMutatingRequestsInflight ?? 200,
      "the number of mutating requests in flight",
    ),
    compactionIntervalMs: options.compactionIntervalMs ?? 5 * 60_000,
    ifReadyMode: options.ifReadyMode ?? "off",
    shutdown: { ...DEFAULT_SHUTDOWN_OPTIONS, ...options.shutdown },
    goawayChance: goawayChance(options.goawayChance ?? 0),
    serviceClusterIpRange: asOption(() => parseIpRange(options.serviceClusterIpRange ?? "10.0.0.0/24")),
    serviceNodePortRange: asOption(() => parsePortRange(options.serviceNodePortRange ?? "30000-32767")),
    advertise: options.advertise,
    usesStorageVersions: uses,
    controllers: asOption(() => enabledControllers(options.controllers ?? (strictRelease ? [] : ["*"]), CONTROLLERS)),
    rootCa: options.rootCa,
    serviceOverrides: asOption(() => serviceOverrides(options.serviceEndpointOverrides ?? [])),
  } satisfies Omit<ServerConfig, typeof resolved> as ServerConfig;
}

/** What a command finds or makes in its data directory, after everything else has been checked. */
interface KeptCredentials extends Pick<ServerOptions, "serviceAccounts" | "rootCa" | "authorities"> {
  /** The text of a token file. */
  readonly tokenFile: string;
}

export function withKeptCredentials(config: ServerConfig, kept: KeptCredentials): ServerConfig {
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

/** A server that does not register could never say what its peers serve: it does not start. */
function checkRoutingSource({ routingSource, isEnabled }: PeerConfig, registers: boolean): void {
  if (routingSource === "storageversion" && isEnabled && !registers)
    throw new OptionError(
      "--peer-routing-source=storageversion needs the feature gate StorageVersionAPI and its API, internal.apiserver.k8s.io/v1alpha1",
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
    throw new OptionError(`the etcd prefix must be a path such as /registry, not ${JSON.stringify(prefix)}`);
  return `${prefix.replace(/\/+$/, "")}/`;
}

function goawayChance(chance: number): number {
  if (!(chance >= 0 && chance <= 0.02))
    throw new OptionError("--goaway-chance can not be less than 0 or greater than 0.02");
  return chance;
}

function positive(value: number, what: string): number {
  if (!Number.isFinite(value) || value <= 0) throw new OptionError(`${what} must be greater than zero, not ${value}`);
  return value;
}

const STORAGE_VERSION_GATE = "StorageVersionAPI";
const IDENTITY_GATE = "APIServerIdentity";
/** Ours: Kubernetes has no such gate. */
const VERSION_GATE = "VersionAwareProxying";

/** A server that would publish what it does not serve could never become ready: it does not start either. */
function usesStorageVersions(from: {
  /** As the flag sets it, if it does. */
  readonly gate: boolean | undefined;
  readonly identity: boolean | undefined;
  readonly allAlpha: boolean | undefined;
  readonly isServed: boolean;
  readonly strictRelease: boolean;
}): boolean {
  const { gate, identity, allAlpha, isServed, strictRelease } = from;
  if (gate === true && !isServed)
    throw new OptionError(
      `the feature gate ${STORAGE_VERSION_GATE} needs its API: add --runtime-config=internal.apiserver.k8s.io/v1alpha1=true`,
    );
  if (gate === true && identity === false)
    throw new OptionError(`the feature gate ${STORAGE_VERSION_GATE} needs the feature gate ${IDENTITY_GATE}`);
  return gate ?? (isServed && identity !== false && (!strictRelease || allAlpha === true));
}
