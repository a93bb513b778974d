/** Starts several servers in one process. They listen on 127.0.0.1 and share one store, as servers share one etcd. */
import { createNodeEnv } from "../../src/server/env-node.ts";
import { startListening, type ListeningServer } from "../../src/server/listener.ts";
import { resolveOptions, type ServerOptions } from "../../src/server/config.ts";
import type { PeerOptions } from "../../src/cluster/peers/peer-config.ts";
import type { PeerTiming } from "../../src/cluster/peers/timing.ts";
import type { ClusterView } from "../../src/cluster/peers/view.ts";
import { createMemoryStore, type MemoryStore } from "../../src/storage/kv-memory/kv.ts";
import { StorageError, type Kv } from "../../src/storage/kv.ts";
import { endpointKey } from "../../src/cluster/peers/endpoint-record.ts";
import { ADMIN_TOKEN, ApiClient } from "./client.ts";
import { createCredentials, writeCredentials, type CredentialFiles, type Credentials } from "./credentials.ts";
import { Link } from "./link.ts";
import { eventually } from "./wait.ts";

export interface MemberOptions {
  /** The server ID. Default: a, b, c, … */
  readonly id?: string;
  readonly release?: string;
  readonly runtimeConfig?: string;
  readonly gate?: boolean;
  readonly peers?: Partial<PeerOptions>;
  /** True if the server starts without the flags that are needed to call peers. */
  readonly hasNoCredentials?: boolean;
  readonly options?: Partial<ServerOptions>;
  /** True if every call to the store, except watches, fails until `resumeStore`. */
  readonly isStoreStalled?: boolean;
  /** True if `start` must not wait until the server is ready. */
  readonly skipReady?: boolean;
}

/** The sources from which a server reads the resources that its peers serve. Routing tests run with each source. */
export const ROUTING_SOURCES = ["discovery", "storageversion"] as const;
export type RoutingSource = (typeof ROUTING_SOURCES)[number];

/**
 * Short intervals, so that servers notice changes quickly, but a long probe timeout, because a busy machine is not an
 * outage.
 */
export const TEST_TIMING: Partial<PeerTiming> = {
  probeIntervalMs: 50,
  probeTimeoutMs: 10_000,
  documentTimeoutMs: 2_000,
  documentRetryMs: 20,
  documentRetryMsMax: 200,
  endpointRefreshMs: 1_000,
};

/** Timing without probes, for tests that count all requests between servers. */
export const UNPROBED: Partial<PeerTiming> = {
  ...TEST_TIMING,
  probeIntervalMs: 600_000,
  documentTimeoutMs: 20_000,
  documentRecheckMs: 600_000,
};

/** Timing with short leases, for tests in which a server crashes and the other servers must notice it soon. */
export const SHORT_LEASES: Partial<PeerTiming> = {
  ...TEST_TIMING,
  endpointTtlSeconds: 2,
  endpointRefreshMs: 200,
  leaseDurationSeconds: 2,
  leaseRenewMs: 200,
  fenceAfterMs: 1_500,
  leaseMarginMs: 100,
  leaseCollectIntervalMs: 100,
};

/**
 * Access options for tests that do not concern access control: every request is authorized, so no test waits for roles,
 * and pods need no service accounts.
 */
export const OPEN = {
  authorizationModes: ["AlwaysAllow"],
  disableAdmissionPlugins: ["ServiceAccount"],
} satisfies ServerOptions["access"];

const TOKENS = [`${ADMIN_TOKEN},admin,admin-uid,"system:masters"`, `jane-token,Jäne,u-1,"dev,ops team"`].join("\n");

export class Member extends ApiClient {
  readonly id: string;
  readonly listening: ListeningServer;
  readonly link: Link;
  readonly #handle: StoreHandle;
  #stopping: Promise<void> | undefined;

  constructor(
    listening: ListeningServer,
    of: { id: string; link: Link; credentials: Credentials; handle: StoreHandle },
  ) {
    super(listening.port, of.credentials);
    this.listening = listening;
    this.id = of.id;
    this.link = of.link;
    this.#handle = of.handle;
  }

  /** The number of reads that this server has sent to the store. */
  get storeReads(): number {
    return this.#handle.reads;
  }

  /** The keys that this server has tried to write or delete in the store, in order. */
  get storeWrites(): readonly string[] {
    return this.#handle.writes;
  }

  get view(): ClusterView {
    return this.listening.server.view();
  }

  /** The IDs of the peers to which this server can send requests. */
  get usablePeers(): string[] {
    return this.view.peers.filter(({ isReachable, isDescribed }) => isReachable && isDescribed).map(({ id }) => id);
  }

  /** Waits until this server can send requests to exactly these peers. */
  async knows(...ids: string[]): Promise<void> {
    const wanted = ids.toSorted().join();
    await eventually(
      () => this.usablePeers.join(),
      (usable) => usable === wanted,
    );
  }

  /** Ends the failure of the store of a server with `isStoreStalled`. */
  resumeStore(): void {
    this.#handle.isFrozen = false;
  }

  /** Stops the server gracefully. */
  stop(): Promise<void> {
    this.#stopping ??= this.listening.stop().then(() => this.link.close());
    return this.#stopping;
  }

  /**
   * Stops the server like a crash: from now on peers cannot reach it, and its calls to the store fail, so that it
   * deletes neither its lease nor its endpoint record.
   */
  crash(): void {
    this.#handle.isFrozen = true;
    this.link.cut();
    void this.stop();
  }
}

export class TestCluster implements AsyncDisposable {
  readonly source: RoutingSource;
  readonly credentials: Credentials;
  readonly files: CredentialFiles;
  readonly members: Member[] = [];
  readonly log: string[] = [];
  readonly #store: MemoryStore;
  /** Direct access to the store, not through a server. */
  readonly kv: Kv;
  readonly #ends: (() => Promise<void>)[] = [];

  constructor(source: RoutingSource = "discovery") {
    this.source = source;
    this.credentials = createCredentials();
    this.files = writeCredentials(this.credentials);
    this.#store = createMemoryStore({ clock: createNodeEnv({ logLevel: "error" }).clock });
    this.kv = this.#store.open();
  }

  /** Registers a function that must end before the servers are stopped. */
  defer(end: () => Promise<void>): void {
    this.#ends.push(end);
  }

  async start(options: MemberOptions = {}): Promise<Member> {
    const id = options.id ?? String.fromCodePoint(97 + this.members.length);
    const link = await Link.open();
    const env = createNodeEnv({ logLevel: "debug", write: (line) => void this.log.push(`${id}: ${line}`) });
    const handle: StoreHandle = { isFrozen: options.isStoreStalled ?? false, reads: 0, writes: [] };
    const openKv = (): Promise<Kv> => Promise.resolve(watched(this.#store.open(), handle));
    const { serving } = this.credentials;
    const at = { host: "127.0.0.1", port: 0, cert: serving.certPem, key: serving.keyPem };
    const listening = await startListening({ ...env, openKv }, this.#config(id, link, options), at);
    link.lead(listening.port);
    const { credentials } = this;
    const member = new Member(listening, { id, link, credentials, handle });
    this.members.push(member);
    if (!options.skipReady) {
      await listening.server.ready;
      if (options.gate !== false) await this.#isRecorded(id);
    }
    return member;
  }

  /** Writes a raw value directly to the store. */
  async put(key: string, value: string | Buffer): Promise<void> {
    const { items } = await this.kv.range({ start: key });
    const expectedRevision = items[0]?.modRevision ?? 0;
    await this.kv.commit({ kind: "put", key, value: Buffer.from(value), expectedRevision });
  }

  async remove(key: string): Promise<void> {
    const { items } = await this.kv.range({ start: key });
    if (items[0] !== undefined) await this.kv.commit({ kind: "delete", key, expectedRevision: items[0].modRevision });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ends.toReversed()) await end();
    await Promise.all(this.members.map((member) => member.stop()));
    await this.kv.close();
    this.files.remove();
  }

  #config(id: string, link: Link, options: MemberOptions): ReturnType<typeof resolveOptions> {
    const { release = "1.36", runtimeConfig, gate, peers, hasNoCredentials = false } = options;
    const { caFile, certFile, keyFile } = this.files;
    const isOff = gate === false;
    const isRegistered = this.source === "storageversion";
    return resolveOptions({
      release,
      strictRelease: true,
      featureGates: [
        `UnknownVersionInteroperabilityProxy=${!isOff}`,
        ...(isRegistered ? ["StorageVersionAPI=true"] : []),
      ],
      runtimeConfig: [
        ...(runtimeConfig === undefined ? [] : [runtimeConfig]),
        ...(isRegistered ? ["internal.apiserver.k8s.io/v1alpha1=true"] : []),
      ],
      storage: { kind: "memory" },
      tokenFile: TOKENS,
      requestHeader: { clientCa: this.credentials.proxyCa },
      access: OPEN,
      peers: {
        serverId: id,
        timing: TEST_TIMING,
        routingSource: this.source,
        ...(hasNoCredentials || isOff ? {} : { caFile, certFile, keyFile }),
        ...(isOff ? {} : { advertiseIp: "127.0.0.1", advertisePort: String(link.port) }),
        ...peers,
      },
      ...options.options,
    });
  }

  #isRecorded(id: string): Promise<boolean> {
    const start = endpointKey("/registry/", id);
    return eventually(
      async () => (await this.kv.range({ start })).items.length > 0,
      (isThere) => isThere,
    );
  }
}

/**
 * Starts a cluster, and waits until every server is ready and every server that can call peers knows all servers with
 * the proxy.
 */
export async function startCluster(members: readonly MemberOptions[], source?: RoutingSource): Promise<TestCluster> {
  const cluster = new TestCluster(source);
  for (const options of members) await cluster.start(options);
  const enabled = cluster.members.filter((_member, at) => members[at]!.gate !== false);
  const callers = cluster.members.filter(
    (_member, at) => members[at]!.gate !== false && !members[at]!.hasNoCredentials,
  );
  for (const member of callers) {
    const others = cluster.members.filter((other) => other !== member && enabled.includes(other));
    await member.knows(...others.map(({ id }) => id));
  }
  return cluster;
}

interface StoreHandle {
  /** True after a simulated crash, or before `resumeStore`: every call to the store, except watches, fails. */
  isFrozen: boolean;
  reads: number;
  readonly writes: string[];
}

function watched(kv: Kv, handle: StoreHandle): Kv {
  const guard = <T>(work: () => Promise<T>): Promise<T> =>
    handle.isFrozen ? Promise.reject(new StorageError("unavailable", "the process has crashed")) : work();
  const read = <T>(work: () => Promise<T>): Promise<T> => {
    handle.reads++;
    return guard(work);
  };
  return {
    range: (request) => read(() => kv.range(request)),
    commit: (change) => {
      handle.writes.push(change.key);
      return guard(() => kv.commit(change));
    },
    watch: (request, sink) => kv.watch(request, sink),
    onHistoryChange: (listener) => kv.onHistoryChange(listener),
    currentRevision: () => read(() => kv.currentRevision()),
    compact: (revision) => guard(() => kv.compact(revision)),
    leaseGrant: (ttlSeconds) => guard(() => kv.leaseGrant(ttlSeconds)),
    leaseKeepAlive: (lease) => guard(() => kv.leaseKeepAlive(lease)),
    leaseRevoke: (lease) => guard(() => kv.leaseRevoke(lease)),
    close: () => kv.close(),
  };
}
