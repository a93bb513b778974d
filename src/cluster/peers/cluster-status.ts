/**
 * Builds the status report of one server about its cluster, for `evenkeel status` and other clients. The report repeats
 * the view that routing uses, in a stable format, and adds no conclusions.
 */
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { DiscoverySource } from "../../serving/discovery/merge.ts";
import { formatGroupVersion, parseGroupVersion } from "../../meta/group-version.ts";
import { authorityOf } from "../../serving/http/upstream.ts";
import type { HistoryStatus } from "../../storage/history-recovery.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import { kubeLacks } from "./kube-lacks.ts";
import type { Liveness } from "./live-servers.ts";
import { recordedResources, type ServedRecord } from "./served-record.ts";
import type { ClusterView, Departed, GoneServer, PeerView, ResourceQuestion } from "./view.ts";

export interface ClusterStatus {
  readonly kind: "ClusterStatus";
  readonly apiVersion: "evenkeel.io/v1";
  /** The ID of the server that reports. */
  readonly server: string;
  /**
   * Whether that server has read the identity leases and endpoint records and, with
   * --peer-routing-source=storageversion, the StorageVersion objects.
   */
  readonly isSynced: boolean;
  readonly proxy: ProxyStatus;
  /** Why this server rejects writes; absent if it accepts them. */
  readonly fence?: string;
  /** The latest change of the store's history that this server has detected; absent if there was none. */
  readonly storeHistory?: HistoryStatus;
  /** The reporting server first, then the others sorted by ID. */
  readonly servers: readonly ServerStatus[];
  /**
   * The servers that departed within their grace period and have not returned, and the resources that departed servers
   * served and no live server serves.
   */
  readonly departed: readonly DepartedStatus[];
  readonly kubernetesService: KubernetesServiceStatus;
  /** Servers that have been starting for so long that other servers do not wait for them. */
  readonly overdue: readonly { readonly server: string; readonly release: string }[];
  readonly ignoredLeases: IgnoredLeases;
  /** The leader elections of the controllers. Empty if no server runs controllers. */
  readonly controllers: readonly ControllerStatus[];
  /** The controllers that stand back while kube-controller-manager renews its lease; null if none does. */
  readonly heldByKubeControllerManager: HeldControllers | null;
  /**
   * The leaders, the terminating namespaces, the resources that controllers cannot read, and the objects that other
   * clients keep overwriting, with the reasons.
   */
  readonly waitingFor: readonly Waiting[];
}

/** Identity leases that do not count as servers, because nothing else shows that their servers exist. */
interface IgnoredLeases {
  readonly count: number;
  /** The first IDs. */
  readonly servers: readonly string[];
}

/** The addresses at which clients in the cluster reach its servers through the kubernetes Service. */
interface KubernetesServiceStatus {
  /** The IP addresses of all masterleases. */
  readonly addresses: readonly string[];
  /** Why the address of the reporting server is not among them; absent if the server publishes it. */
  readonly notPublished?: string;
}

export interface ControllerStatus {
  /** The name of the Lease in kube-system. */
  readonly lease: string;
  /** The ID of the server that runs the controllers; absent if no server holds the lease. */
  readonly leader?: string;
  /** When the leader took the lease, by the clock of the leader. */
  readonly since?: string;
  /** Time since the reporting server saw the last renewal. */
  readonly renewedSecondsAgo: number;
}

export interface HeldControllers {
  /** The holderIdentity of the Lease kube-system/kube-controller-manager. */
  readonly holder: string;
  readonly controllers: readonly string[];
}

export interface Waiting {
  readonly kind: "leader" | "namespace" | "resource" | "object";
  /** The name of the Lease, of the namespace or of the resource, or the resource and key of the object. */
  readonly name: string;
  readonly since?: string;
  /** When the wait ends at the latest (leader), or at the earliest (namespace); absent if unknown. */
  readonly until?: string;
  readonly because: string;
}

interface ProxyStatus {
  readonly isEnabled: boolean;
  /** The flag that must be set before any peer can be called. */
  readonly missingFlag?: string;
}

interface ServerStatus {
  readonly id: string;
  readonly isSelf: boolean;
  /** True for a kube-apiserver, and for a server of which nothing is known but its identity lease. */
  readonly isKubeApiserver: boolean;
  /** The release that the server publishes, or that the reporting server has read from a kube-apiserver. */
  readonly release?: string;
  /** The release that the discovery document of a kube-apiserver suggests, if it does not report its release. */
  readonly assumedRelease?: string;
  readonly binaryVersion?: string;
  /** This and the next field are absent for a kube-apiserver, which does not publish them. */
  readonly compatibilityVersion?: string;
  readonly incarnation?: string;
  /** The gaps of a kube-apiserver, as `kubeLacks` lists them. */
  readonly lacks: readonly string[];
  /** Absent until the address of the server is known. */
  readonly address?: string;
  readonly isReachable: boolean;
  /** Why the server is unreachable, such as "connection refused"; absent if it is reachable or not probed yet. */
  readonly unreachableBecause?: string;
  readonly isDraining: boolean;
  /** Whether the discovery document of the current run is known. */
  readonly isDescribed: boolean;
  /** Why this document could not be fetched, such as "HTTP 401: not accepted as a peer". */
  readonly undescribedBecause?: string;
  /**
   * Seconds since the peer last confirmed its discovery document; absent for the reporting server, and for a peer
   * without a known document.
   */
  readonly documentAgeSeconds?: number;
  /** Built-in resources that, according to the discovery documents, only this server serves. */
  readonly onlyServes: readonly ServedGroupVersion[];
}

interface ServedGroupVersion {
  /** "apps/v1", or "v1" for the core group. */
  readonly groupVersion: string;
  /** Resources and subresources, such as "pods" and "pods/resize". */
  readonly resources: readonly string[];
}

interface DepartedStatus {
  readonly server: string;
  readonly release?: string;
  readonly departedAt: string;
  /** Time since then, by the clock of the reporting server. */
  readonly secondsAgo: number;
  /** False if the server has restarted, so that only an earlier run of it has departed. */
  readonly isGone: boolean;
  /** Whether the server ended with a graceful shutdown. Absent if it has restarted. */
  readonly isGraceful?: boolean;
  /** The number of resources that no live server serves. */
  readonly resourceCount: number;
  readonly resources: readonly ServedGroupVersion[];
}

export interface ClusterStatusInput {
  readonly view: ClusterView;
  readonly isProxyEnabled: boolean;
  /** The endpoint record of a server, this one included, if one exists. */
  readonly record: (id: string) => EndpointRecord | undefined;
  readonly own: Pick<ServerStatus, "binaryVersion" | "compatibilityVersion" | "incarnation">;
  readonly fence: string | undefined;
  readonly storeHistory: HistoryStatus | undefined;
  /** The built-in resources of this server. */
  readonly builtInGroups: readonly DiscoveryGroup[];
  /** The documents of the peers, without custom and aggregated resources. */
  readonly sources: readonly DiscoverySource[];
  /** Served records of runs that have ended. */
  readonly departed: readonly ServedRecord[];
  /** The servers that departed within their grace period and have not returned. */
  readonly gone: readonly GoneServer[];
  readonly kubernetesService: KubernetesServiceStatus;
  readonly liveness: Pick<Liveness, "servers" | "overdue" | "ignored">;
  /** Whether a server has published storage versions itself; undefined if the reporting server does not use them. */
  readonly publishesStorageVersions: (id: string) => boolean | undefined;
  readonly controllers: Pick<ClusterStatus, "controllers" | "heldByKubeControllerManager" | "waitingFor">;
  /** The time of the report by the monotonic clock, and by the wall clock. */
  readonly nowMs: number;
  readonly wallMs: number;
}

const IGNORED_SHOWN_MAX = 20;

export function clusterStatus(input: ClusterStatusInput): ClusterStatus {
  const { view, isProxyEnabled, fence, storeHistory } = input;
  const onlyServes = onlyServed(input);
  return {
    kind: "ClusterStatus",
    apiVersion: "evenkeel.io/v1",
    server: view.self.id,
    isSynced: view.isSynced,
    proxy: { isEnabled: isProxyEnabled, ...present({ missingFlag: view.missingFlag }) },
    ...present({ fence, storeHistory }),
    servers: [selfStatus(input, onlyServes), ...view.peers.map((peer) => peerStatus(peer, input, onlyServes))],
    departed: departedStatus(input),
    kubernetesService: input.kubernetesService,
    overdue: input.liveness.overdue.map(({ id: server, release }) => ({ server, release })),
    ignoredLeases: {
      count: input.liveness.ignored.length,
      servers: input.liveness.ignored.slice(0, IGNORED_SHOWN_MAX),
    },
    ...input.controllers,
  };
}

type OnlyServed = (id: string) => ServedGroupVersion[];

function selfStatus({ view, record, own }: ClusterStatusInput, onlyServes: OnlyServed): ServerStatus {
  const { id, release } = view.self;
  const stored = record(id);
  return {
    id,
    isSelf: true,
    isKubeApiserver: false,
    release,
    ...own,
    lacks: [],
    ...present({ address: stored?.address && authorityOf(stored.address) }),
    isReachable: true,
    isDraining: stored?.state === "draining",
    isDescribed: true,
    onlyServes: onlyServes(id),
  };
}

function peerStatus(peer: PeerView, input: ClusterStatusInput, onlyServes: OnlyServed): ServerStatus {
  const { id, release, address, isReachable, unreachableBecause, isDraining, isDescribed, undescribedBecause } = peer;
  const { document, kube } = peer;
  const { record, nowMs, liveness, publishesStorageVersions } = input;
  const stored = record(id);
  return {
    id,
    isSelf: false,
    isKubeApiserver: kube !== undefined,
    ...present({
      release,
      assumedRelease: kube?.assumedRelease,
      binaryVersion: stored?.binaryVersion ?? kube?.version?.binaryVersion,
      compatibilityVersion: stored?.compatibilityVersion,
      incarnation: stored?.incarnation,
      address: address && authorityOf(address),
    }),
    lacks: kubeLacks(peer, {
      evidence: liveness.servers.find((server) => server.id === id)?.evidence,
      publishesStorageVersions: publishesStorageVersions(id),
    }),
    isReachable,
    ...present({ unreachableBecause }),
    isDraining,
    isDescribed,
    ...present({
      undescribedBecause,
      documentAgeSeconds: document && Math.max(0, Math.round(nowMs - document.confirmedAtMs) / 1000),
    }),
    onlyServes: onlyServes(id),
  };
}

/**
 * The resources that exactly one discovery document lists, by the server of that document. Custom and aggregated
 * resources are not among them: every server serves those from the shared store.
 */
function onlyServed({ view, builtInGroups, sources }: ClusterStatusInput): OnlyServed {
  const documents = [{ serverId: view.self.id, groups: builtInGroups }, ...sources].map(({ serverId, groups }) => ({
    serverId,
    resources: recordedResources(groups),
  }));
  const holders = new Map<string, number>();
  for (const { resources } of documents) {
    for (const [groupVersion, names] of resources)
      for (const name of new Set(names)) {
        const key = `${groupVersion} ${name}`;
        holders.set(key, (holders.get(key) ?? 0) + 1);
      }
  }
  const isOnly = (groupVersion: string, name: string): boolean => holders.get(`${groupVersion} ${name}`) === 1;
  return (id) => {
    const document = documents.find(({ serverId }) => serverId === id);
    return document === undefined ? [] : selected(document.resources, isOnly);
  };
}

/**
 * Resources are listed at the server that served them last, which is also the server that a 503 for them names. A gone
 * server is listed even if other servers serve all of its resources.
 */
function departedStatus(input: ClusterStatusInput): DepartedStatus[] {
  const unserved = unservedResources(input);
  const isListed = ({ serverId }: GoneServer): boolean =>
    unserved.some(({ departed }) => departed.serverId === serverId);
  const others = input.gone.filter((server) => !isListed(server)).map((departed) => ({ departed, resources: [] }));
  return [...unserved, ...others].map(({ departed: { serverId: id, calledAt, release, departedAt }, resources }) => {
    const gone = input.gone.find(({ serverId }) => serverId === id);
    return {
      server: calledAt ?? id,
      ...present({ release }),
      departedAt,
      secondsAgo: Math.max(0, Math.round((input.wallMs - Date.parse(departedAt)) / 1000)),
      isGone: gone !== undefined,
      ...present({ isGraceful: gone?.isGraceful }),
      resourceCount: resources.reduce((sum, { resources: { length } }) => sum + length, 0),
      resources,
    };
  });
}

interface Unserved {
  readonly departed: Departed;
  readonly resources: readonly ServedGroupVersion[];
}

function unservedResources({ view, departed }: ClusterStatusInput): Unserved[] {
  const bySource = new Map<string, { departed: Departed; found: Map<string, Set<string>> }>();
  for (const [groupVersion, names] of departed.flatMap(({ resources }) => [...resources])) {
    for (const name of names) {
      const question = questionOf(groupVersion, name);
      const response = isServed(view, question) ? undefined : view.departed(question);
      if (response === undefined) continue;
      const key = `${response.departedAt} ${response.serverId}`;
      const { found } = entry(bySource, key, () => ({ departed: response, found: new Map<string, Set<string>>() }));
      entry(found, groupVersion, () => new Set<string>()).add(name);
    }
  }
  return [...bySource.values()].map(({ departed: source, found }) => ({
    departed: source,
    resources: selected(found, () => true),
  }));
}

function isServed({ local, peers }: ClusterView, question: ResourceQuestion): boolean {
  return local.has(question) || peers.some(({ document }) => document?.served.has(question) === true);
}

function questionOf(groupVersion: string, name: string): ResourceQuestion {
  const [resource = "", subresource = ""] = name.split("/");
  return { ...parseGroupVersion(groupVersion), resource, subresource };
}

function selected(
  resources: ReadonlyMap<string, Iterable<string>>,
  isWanted: (groupVersion: string, name: string) => boolean,
): ServedGroupVersion[] {
  return [...resources].flatMap(([groupVersion, names]) => {
    const wanted = [...new Set(names)].filter((name) => isWanted(groupVersion, name)).sort();
    if (wanted.length === 0) return [];
    return [{ groupVersion: formatGroupVersion(parseGroupVersion(groupVersion)), resources: wanted }];
  });
}

type Present<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Omits undefined fields. */
function present<T extends object>(members: T): Present<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<T>;
}

function entry<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}
