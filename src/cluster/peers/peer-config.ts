/** Validates the flags by which a server takes part in a cluster of several servers. */
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import type { ClientCertificateFiles, PeerCredentials } from "../../serving/http/node/reloading-credentials.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { parseEgressConfig, type EgressConnection } from "../../serving/http/node/upstream/egress-config.ts";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { advertisedPeerAddress } from "./advertised-address.ts";
import { isPort, isReachableIp } from "./endpoint-record.ts";
import { serverId } from "./server-id.ts";
import { DEFAULT_PEER_TIMING, timingErrors, type PeerTiming } from "./timing.ts";
import { asOption, OptionError } from "../../base/option-error.ts";

export interface PeerOptions {
  /** The hostname from which the server ID is computed. Default "localhost". */
  readonly hostname?: string;
  /** The server ID itself, to run several servers on one host. */
  readonly serverId?: string;
  /** The files of `--peer-ca-file`, `--proxy-client-cert-file` and `--proxy-client-key-file`. */
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** The values of `--peer-advertise-ip` and `--peer-advertise-port`. Both must be set, or neither. */
  readonly advertiseIp?: string;
  readonly advertisePort?: string;
  /** The address at which all clients reach this server. Default: the address on which it listens. */
  readonly address?: string;
  /** Maximum number of requests to peers in flight, not counting long-running ones such as watches. Default 400. */
  readonly requestsInflightMax?: number;
  /**
   * "extended" (default) also routes requests that the local server would reject and a peer would accept; "documents"
   * does not.
   */
  readonly routing?: string;
  /** "discovery" (default) or "storageversion": the source from which routing knows what peers serve. */
  readonly routingSource?: string;
  /**
   * What happens to a request that sets a field which this server does not know but a peer does: "route" (default),
   * "warn" or "refuse".
   */
  readonly fieldLoss?: string;
  /**
   * "merged" (default) shows what the whole cluster serves, "newest" what its newest server serves, "local" what this
   * server serves.
   */
  readonly discoveryMode?: string;
  /** "all" (default) merges every form of discovery, "aggregated" only the aggregated form. */
  readonly discoveryMergeScope?: string;
  /** As `--peer-server`: ID=HOST:PORT of servers that write no endpoint record, such as a kube-apiserver before 1.36. */
  readonly servers?: readonly string[];
  /** The parsed EgressSelectorConfiguration. */
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
  /** Whether the mixed version proxy and merged discovery are enabled. */
  readonly isEnabled: boolean;
  /** Undefined if no peer can be called. */
  readonly credentials: PeerCredentials | undefined;
  /** The client certificate for calls to peers and aggregated API servers. May be set even if no peer can be called. */
  readonly clientCertificate: ClientCertificateFiles | undefined;
  /** The flag to report as missing if a peer is needed; undefined if peers can be called. */
  readonly missingFlag: string | undefined;
  /** The address that peers use, if the peer flags set one. */
  readonly advertise: UpstreamAddress | undefined;
  readonly address: string | undefined;
  readonly requestsInflightMax: number;
  readonly routing: "documents" | "extended";
  readonly routingSource: "discovery" | "storageversion";
  readonly fieldLoss: FieldLoss;
  readonly discoveryMode: "merged" | "newest" | "local";
  readonly discoveryMergeScope: "all" | "aggregated";
  readonly egress: EgressConnection;
  /** The egress selections with a proxy that the server does not use: it connects directly. */
  readonly unusedEgress: readonly string[];
  /** The addresses of servers that write no endpoint record, by server ID. */
  readonly servers: ReadonlyMap<string, UpstreamAddress>;
  readonly timing: PeerTiming;
}

/** The address of a server in the endpoints of the kubernetes Service, or why it has none. */
export type PublishedEndpoint =
  | {
      readonly address: string;
      /** Undefined: the port on which the server listens. */
      readonly port: number | undefined;
    }
  | { readonly address: undefined; readonly because: string };

/** The configuration of a server that src/cluster needs. */
export interface MemberConfig {
  readonly release: ReleaseName;
  /** `binary` is the release of the code. It differs from `release` while the server emulates an older release. */
  readonly version: { readonly binary: ReleaseName };
  /** The key prefix of all data that the servers store; ends with a slash. */
  readonly storageRoot: string;
  readonly peers: PeerConfig;
  readonly isVersionAware: boolean;
  /** Whether servers agree on encodings by StorageVersion objects. */
  readonly usesStorageVersions: boolean;
  /** Undefined for a server without a listener, which has no part in the kubernetes Service. */
  readonly published: PublishedEndpoint | undefined;
}

export const PEER_PROXY_GATE = "UnknownVersionInteroperabilityProxy";

interface PeerConfigInput {
  readonly options: PeerOptions;
  readonly release: ReleaseName;
  readonly strictRelease: boolean;
  /** The value of the feature gate flag, if set. */
  readonly gate: boolean | undefined;
}

export function resolvePeerOptions({ options, release, strictRelease, gate }: PeerConfigInput): PeerConfig {
  const isEnabled = gate ?? (!strictRelease || gatesOf(release).isOn(PEER_PROXY_GATE));
  if (!isEnabled) rejectPeerFlags(options);
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
    ...egressOf(options.egress),
    servers: namedServers(options.servers ?? []),
    timing: checkedTiming({ ...DEFAULT_PEER_TIMING, ...options.timing }),
  };
}

function namedServers(texts: readonly string[]): ReadonlyMap<string, UpstreamAddress> {
  return new Map(
    texts.map((text) => {
      const [, id, host, port] = /^([^=\s]{1,253})=(.+):(\d{1,5})$/.exec(text) ?? [];
      const ip = host?.replace(/^\[(.*)\]$/, "$1");
      if (id === undefined || ip === undefined || !isReachableIp(ip) || !isPort(Number(port)))
        throw new OptionError(
          `--peer-server must have the form ID=IP:PORT with an address that this server can reach, not ${JSON.stringify(text.slice(0, 100))}`,
        );
      return [id, { host: ip, port: Number(port) }];
    }),
  );
}

/** Rejects peer flags while the feature gate is off, as kube-apiserver does. */
function rejectPeerFlags({ caFile, advertiseIp, advertisePort }: PeerOptions): void {
  const flags = { "peer-ca-file": caFile, "peer-advertise-ip": advertiseIp, "peer-advertise-port": advertisePort };
  for (const [flag, value] of Object.entries(flags)) {
    if (value !== undefined) throw new OptionError(`--${flag} requires ${PEER_PROXY_GATE} feature to be turned on`);
  }
}

type Callable = Pick<PeerConfig, "credentials" | "clientCertificate" | "missingFlag">;

function callable({ caFile, certFile, keyFile }: PeerOptions): Callable {
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new OptionError("--proxy-client-cert-file and --proxy-client-key-file must be set together");
  const clientCertificate = certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
  if (caFile !== undefined && clientCertificate !== undefined)
    return { credentials: { caFile, ...clientCertificate }, clientCertificate, missingFlag: undefined };
  const missingFlag = caFile === undefined ? "--peer-ca-file" : "--proxy-client-cert-file";
  return { credentials: undefined, clientCertificate, missingFlag };
}

/** Validates the peer flags early. The defaults of the address are known only when the server listens. */
function advertised({ advertiseIp, advertisePort }: PeerOptions): PeerConfig["advertise"] {
  if (advertiseIp === undefined && advertisePort === undefined) return undefined;
  const flags = { peerAdvertiseIp: advertiseIp, peerAdvertisePort: advertisePort };
  return asOption(() => advertisedPeerAddress({ ...flags, bindAddress: "127.0.0.1", port: 1 }));
}

/** Checks the server ID, which becomes the name of a Lease and a part of keys in the store. */
function checkedId(id: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(id))
    throw new OptionError(
      `--server-id must be 1 to 63 lower case letters, digits or dashes that begin and end with a letter or digit, not ${JSON.stringify(id)}`,
    );
  return id;
}

function positiveInteger(value: number): number {
  if (!Number.isSafeInteger(value) || value <= 0)
    throw new OptionError(`the maximum number of requests to peers in flight must be greater than zero, not ${value}`);
  return value;
}

function oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined)
    throw new OptionError(`--${flag} must be one of ${allowed.join(", ")}, not ${JSON.stringify(value)}`);
  return found;
}

function egressOf(config: unknown): Pick<PeerConfig, "egress" | "unusedEgress"> {
  if (config === undefined) return { egress: { kind: "direct" }, unusedEgress: [] };
  const parsed = parseEgressConfig(config);
  if (!parsed.isValid)
    throw new OptionError(`the egress selector configuration is invalid: ${parsed.problems.join(" ")}`);
  return { egress: parsed.connection, unusedEgress: parsed.unused };
}

function checkedTiming(timing: PeerTiming): PeerTiming {
  const [error] = timingErrors(timing);
  if (error !== undefined) throw new OptionError(error);
  return timing;
}
