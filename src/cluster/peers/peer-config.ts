/** How a server takes part in a cluster of several: the peer flags, checked. */
import { gatesOf } from "../../objects/catalogue/release-gates.ts";
import type { ClientCertificateFiles, PeerCredentials } from "../../serving/http/node/reloading-credentials.ts";
import type { ReleaseName } from "../../objects/catalogue/release.ts";
import { parseEgressConfig, type EgressConnection } from "../../serving/http/node/upstream/egress-config.ts";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { advertisedPeerAddress } from "./advertised-address.ts";
import { serverId } from "./server-id.ts";
import { DEFAULT_PEER_TIMING, timingErrors, type PeerTiming } from "./timing.ts";
import { asOption, OptionError } from "../../base/option-error.ts";

export interface PeerOptions {
  /** What the server's ID is made of. Default "localhost". */
  readonly hostname?: string;
  /** The ID itself, for several servers on one host. */
  readonly serverId?: string;
  /** `--peer-ca-file`, `--proxy-client-cert-file`, `--proxy-client-key-file` */
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** `--peer-advertise-ip`, `--peer-advertise-port`: both or none. */
  readonly advertiseIp?: string;
  readonly advertisePort?: string;
  /** Where everybody reaches this server. Default: where it listens. */
  readonly address?: string;
  /** Requests on their way to peers at the same time, watches not counted. Default 400. */
  readonly requestsInflightMax?: number;
  /** "extended" (default) also routes what the local server would refuse and a peer would not; "documents" does not. */
  readonly routing?: string;
  /** "discovery" (default) or "storageversion": from where it is known what peers serve. */
  readonly routingSource?: string;
  /** What becomes of a request that names a field which only a newer peer knows: "route" (default), "warn", "refuse". */
  readonly fieldLoss?: string;
  /** "merged" (default) shows what the whole cluster serves, "newest" what its newest server does, "local" what this one does. */
  readonly discoveryMode?: string;
  /** "all" (default) merges every form of discovery, "aggregated" only the aggregated one. */
  readonly discoveryMergeScope?: string;
  /** A parsed EgressSelectorConfiguration. */
  readonly egress?: unknown;
  readonly timing?: Partial<PeerTiming>;
}

export type RoutingOptions = Pick<
  PeerOptions,
  "routing" | "routingSource" | "fieldLoss" | "discoveryMode" | "discoveryMergeScope"
>;

type FieldLoss = "warn" | "route" | "refuse";

export interface PeerConfig {
  readonly hostname: string;
  readonly serverId: string;
  /** The mixed version proxy, merged discovery, endpoint records. */
  readonly isEnabled: boolean;
  /** Undefined: no peer can be called. */
  readonly credentials: PeerCredentials | undefined;
  /** For aggregated API servers, also where no peer can be called. */
  readonly clientCertificate: ClientCertificateFiles | undefined;
  /** The flag to name when no peer can be called although it would be needed. */
  readonly missingFlag: string | undefined;
  /** Where peers reach this server, if that differs from where everybody does. */
  readonly advertise: UpstreamAddress | undefined;
  readonly address: string | undefined;
  readonly requestsInflightMax: number;
  readonly routing: "documents" | "extended";
  readonly routingSource: "discovery" | "storageversion";
  readonly fieldLoss: FieldLoss;
  readonly discoveryMode: "merged" | "newest" | "local";
  readonly discoveryMergeScope: "all" | "aggregated";
  readonly egress: EgressConnection;
  readonly timing: PeerTiming;
}

/** What the parts of a cluster need of a server's configuration. */
export interface MemberConfig {
  readonly release: ReleaseName;
  /** The release whose code this is; it differs from `release` while the server emulates another. */
  readonly version: { readonly binary: ReleaseName };
  /** The key prefix of everything the servers store; ends with a slash. */
  readonly storageRoot: string;
  readonly peers: PeerConfig;
  readonly isVersionAware: boolean;
  /** Servers agree on encodings by StorageVersion objects. */
  readonly usesStorageVersions: boolean;
}

export const PEER_PROXY_GATE = "UnknownVersionInteroperabilityProxy";

interface PeerConfigInput {
  readonly options: PeerOptions;
  readonly release: ReleaseName;
  readonly strictRelease: boolean;
  /** As the flag sets it, if it does. */
  readonly gate: boolean | undefined;
}

export function resolvePeerOptions({ options, release, strictRelease, gate }: PeerConfigInput): PeerConfig {
  const isEnabled = gate ?? (!strictRelease || gatesOf(release).isOn(PEER_PROXY_GATE));
  if (!isEnabled) refusePeerFlags(options);
  const hostname = options.hostname ?? "localhost";
  return {
    hostname,
    serverId: options.serverId === undefined ? serverId(hostname) : checkedId(options.serverId),
    isEnabled,
    ...callable(options),
    advertise: advertised(options),
    address: options.address,
    requestsInflightMax: positiveInteger(options.requestsInflightMax ?? 400),
    routing: oneOf("peer-routing", options.routing ?? "extended", ["documents", "extended"]),
    routingSource: oneOf("peer-routing-source", options.routingSource ?? "discovery", ["discovery", "storageversion"]),
    fieldLoss: oneOf("field-loss", options.fieldLoss ?? "route", ["warn", "route", "refuse"]),
    discoveryMode: oneOf("discovery-mode", options.discoveryMode ?? "merged", ["merged", "newest", "local"]),
    discoveryMergeScope: oneOf("discovery-merge-scope", options.discoveryMergeScope ?? "all", ["all", "aggregated"]),
    egress: egressConnection(options.egress),
    timing: checkedTiming({ ...DEFAULT_PEER_TIMING, ...options.timing }),
  };
}

/** As the reference. */
function refusePeerFlags({ caFile, advertiseIp, advertisePort }: PeerOptions): void {
  const flags = { "peer-ca-file": caFile, "peer-advertise-ip": advertiseIp, "peer-advertise-port": advertisePort };
  for (const [flag, value] of Object.entries(flags)) {
    if (value !== undefined) throw new OptionError(`--${flag} requires ${PEER_PROXY_GATE} feature to be turned on`);
  }
}

type Callable = Pick<PeerConfig, "credentials" | "clientCertificate" | "missingFlag">;

function callable({ caFile, certFile, keyFile }: PeerOptions): Callable {
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new OptionError("--proxy-client-cert-file and --proxy-client-key-file must be given together");
  const clientCertificate = certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
  if (caFile !== undefined && clientCertificate !== undefined)
    return { credentials: { caFile, ...clientCertificate }, clientCertificate, missingFlag: undefined };
  const missingFlag = caFile === undefined ? "--peer-ca-file" : "--proxy-client-cert-file";
  return { credentials: undefined, clientCertificate, missingFlag };
}

/** The rest of the order is known when the server listens; what the flags say is checked before that. */
function advertised({ advertiseIp, advertisePort }: PeerOptions): PeerConfig["advertise"] {
  if (advertiseIp === undefined && advertisePort === undefined) return undefined;
  const flags = { peerAdvertiseIp: advertiseIp, peerAdvertisePort: advertisePort };
  return asOption(() => advertisedPeerAddress({ ...flags, bindAddress: "127.0.0.1", port: 1 }));
}

/** It becomes the name of a Lease and a part of keys in the store. */
function checkedId(id: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(id))
    throw new OptionError(
      `--server-id must be lower case letters, digits and dashes, at most 63 of them, not ${JSON.stringify(id)}`,
    );
  return id;
}

function positiveInteger(value: number): number {
  if (!Number.isSafeInteger(value) || value <= 0)
    throw new OptionError(`the number of requests to peers in flight must be greater than zero, not ${value}`);
  return value;
}

function oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined)
    throw new OptionError(`--${flag} must be one of ${allowed.join(", ")}, not ${JSON.stringify(value)}`);
  return found;
}

function egressConnection(config: unknown): EgressConnection {
  if (config === undefined) return { kind: "direct" };
  const parsed = parseEgressConfig(config);
  if (!parsed.isValid)
    throw new OptionError(`the egress selector configuration is wrong: ${parsed.problems.join(" ")}`);
  return parsed.connection;
}

function checkedTiming(timing: PeerTiming): PeerTiming {
  const [error] = timingErrors(timing);
  if (error !== undefined) throw new OptionError(error);
  return timing;
}
