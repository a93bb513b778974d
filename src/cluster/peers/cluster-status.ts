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
import { recordedResources, type ServedRecord } from "./served-record.ts";
import type { ClusterView, PeerView, ResourceQuestion } from "./view.ts";

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
  /** Resources that departed servers served and no live server serves. */
  readonly departed: readonly DepartedStatus[];
}

interface ProxyStatus {
  readonly isEnabled: boolean;
  /** The flag that must be set before any peer can be called. */
  readonly missingFlag?: string;
}

interface ServerStatus {
  readonly id: string;
  readonly isSelf: boolean;
  /**
   * The release that the server publishes. This and the next three fields are absent for a kube-apiserver, which does
   * not publish them.
   */
  readonly release?: string;
  readonly binaryVersion?: string;
  readonly compatibilityVersion?: string;
  readonly incarnation?: string;
  /** Absent until the endpoint record of the server is known. */
  readonly address?: string;
  readonly isReachable: boolean;
  readonly isDraining: boolean;
  /** Whether the discovery document of the current run is known. */
  readonly isDescribed: boolean;
  /**
   * Seconds since the peer last confirmed its discovery document; absent for the reporting server, and for a peer
   * without a known document.
   */
  readonly documentAgeSeconds?: number;
  /** Resources that, according to the discovery documents, only this server serves. */
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
  readonly localGroups: readonly DiscoveryGroup[];
  readonly sources: readonly DiscoverySource[];
  /** Served records of runs that have ended. */
  readonly departed: readonly ServedRecord[];
  /** The time of the report by the monotonic clock. */
  readonly nowMs: number;
}

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
  };
}

type OnlyServed = (id: string) => ServedGroupVersion[];

function selfStatus({ view, record, own }: ClusterStatusInput, onlyServes: OnlyServed): ServerStatus {
  const { id, release } = view.self;
  const stored = record(id);
  return {
    id,
    isSelf: true,
    release,
    ...own,
    ...present({ address: stored && authorityOf(stored.address) }),
    isReachable: true,
    isDraining: stored?.state === "draining",
    isDescribed: true,
    onlyServes: onlyServes(id),
  };
}

function peerStatus(peer: PeerView, { record, nowMs }: ClusterStatusInput, onlyServes: OnlyServed): ServerStatus {
  const { id, release, address, isReachable, isDraining, isDescribed, document } = peer;
  const stored = record(id);
  return {
    id,
    isSelf: false,
    ...present({
      release,
      binaryVersion: stored?.binaryVersion,
      compatibilityVersion: stored?.compatibilityVersion,
      incarnation: stored?.incarnation,
      address: address && authorityOf(address),
    }),
    isReachable,
    isDraining,
    isDescribed,
    ...present({ documentAgeSeconds: document && Math.max(0, Math.round(nowMs - document.confirmedAtMs) / 1000) }),
    onlyServes: onlyServes(id),
  };
}

/** The resources that exactly one discovery document lists, by the server of that document. */
function onlyServed({ view, localGroups, sources }: ClusterStatusInput): OnlyServed {
  const documents = [{ serverId: view.self.id, groups: localGroups }, ...sources].map(({ serverId, groups }) => ({
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

/** Grouped by the server that served the resource last, which is also the server that a 503 for the resource names. */
function departedStatus({ view, departed }: ClusterStatusInput): DepartedStatus[] {
  const responses = new Map<string, Omit<DepartedStatus, "resourceCount" | "resources">>();
  const bySource = new Map<string, Map<string, Set<string>>>();
  for (const [groupVersion, names] of departed.flatMap(({ resources }) => [...resources])) {
    for (const name of names) {
      const question = questionOf(groupVersion, name);
      const response = isServed(view, question) ? undefined : view.departed(question);
      if (response === undefined) continue;
      const { serverId: server, release, departedAt } = response;
      const key = `${departedAt} ${server}`;
      responses.set(key, { server, ...present({ release }), departedAt });
      const found = entry(bySource, key, () => new Map<string, Set<string>>());
      entry(found, groupVersion, () => new Set<string>()).add(name);
    }
  }
  return [...responses].map(([key, answer]) => {
    const resources = selected(bySource.get(key) ?? new Map<string, Set<string>>(), () => true);
    return {
      ...answer,
      resourceCount: resources.reduce((sum, { resources: { length } }) => sum + length, 0),
      resources,
    };
  });
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
