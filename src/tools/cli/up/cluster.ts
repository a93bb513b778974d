/**
 * The servers of `evenkeel up`: starts, changes and stops them, one change at a time. It keeps their IDs and ports on
 * the disk, so that a restart starts the same cluster.
 */
import { must } from "../../../base/assert.ts";
import { createServer, isIPv6 } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { ServerOptions, StorageConfig } from "../../../server/config.ts";
import { CommandFailure } from "../failure.ts";
import {
  FRONT_PROXY_NAME,
  writeClusterKubeconfig,
  writeState,
  type ClusterCredentials,
  type ClusterState,
} from "./cluster-files.ts";
import { HOST, type Launch } from "./hosted-server.ts";
import type { Backend, LoadBalancer } from "./load-balancer.ts";
import type { RunningServer, StartServer } from "./member.ts";
import type { SeenServer } from "./readiness.ts";
import type { RollbackGuard } from "./rollback-guard.ts";
import { parseServerSpec, type CommonOptions, type ServerSpec } from "./server-spec.ts";

type LocalServerState = "starting" | "running" | "paused" | "stopping" | "killed";
export type Fault = "kill" | "pause" | "resume" | "partition" | "heal";
export const FAULTS: readonly Fault[] = ["kill", "pause", "resume", "partition", "heal"];

export interface ServerInfo {
  readonly id: string;
  readonly spec: ServerSpec;
  readonly url: string;
  readonly pid: number | undefined;
  readonly state: LocalServerState;
  readonly isReady: boolean;
  readonly isPartitioned: boolean;
}

interface LocalClusterOptions {
  readonly directory: string;
  readonly credentials: ClusterCredentials;
  readonly storage: StorageConfig;
  readonly hostname: string;
  readonly common: CommonOptions;
  readonly balancer: LoadBalancer;
  /** The address at which clients on this machine reach the load balancer. */
  readonly host: string;
  /** The address at which other machines reach the load balancer; undefined if they cannot. */
  readonly address: string | undefined;
  readonly start: StartServer;
  /** The servers of the cluster as the server at this address sees them. */
  readonly peersOf: (backend: Backend) => Promise<readonly SeenServer[]>;
  readonly guardRollback: RollbackGuard;
  /** Port of the first server of a new cluster; undefined for any free port. */
  readonly firstPort: number | undefined;
  readonly print: (line: string) => void;
  readonly onChange: () => void;
}

interface Entry {
  readonly id: string;
  spec: ServerSpec;
  port: number;
  member: RunningServer | undefined;
  state: LocalServerState;
  isPartitioned: boolean;
}

const SERVERS_MAX = 32;
const READY_MS = 60_000;
const STOP_MS = 10_000;
const PEERS_READY_MS = 10_000;
const MEET_POLL_MS = 10;

export class LocalCluster {
  readonly #options: LocalClusterOptions;
  #entries: Entry[] = [];
  #nextNumber: number;
  #lastChange: Promise<unknown> = Promise.resolve();
  #isClosing = false;

  constructor(options: LocalClusterOptions, kept: ClusterState | undefined) {
    this.#options = options;
    this.#nextNumber = kept?.nextNumber ?? 1;
  }

  get balancerUrl(): string {
    const { host, balancer } = this.#options;
    return `https://${isIPv6(host) ? `[${host}]` : host}:${balancer.port}`;
  }

  /** The servers that can be asked about their peers. */
  running(): Backend[] {
    const running = this.#entries.filter(({ state }) => state === "running");
    return running.map(({ id, port }) => ({ id, host: HOST, port }));
  }

  servers(): ServerInfo[] {
    return this.#entries.map(({ id, spec, port, member, state, isPartitioned }) => ({
      id,
      spec,
      url: `https://${HOST}:${port}`,
      pid: state === "killed" ? undefined : member?.pid,
      state,
      isReady: state === "running" && this.#options.balancer.isReady(id),
      isPartitioned,
    }));
  }

  /** Starts all servers concurrently. Those of an earlier run keep their ID, and their port if it is free. */
  startAll(specs: readonly ServerSpec[], kept: ClusterState | undefined): Promise<void> {
    return this.#change(async () => {
      for (const [index, spec] of specs.entries()) {
        const known = kept?.servers[index];
        this.#entries.push(newEntry(known?.id ?? this.#newId(), spec, known?.port ?? this.#preferredPort(index)));
      }
      const launched = await Promise.allSettled(this.#entries.map((entry) => this.#launch(entry)));
      const failed = launched.find((one) => one.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      await this.#waitForPeers();
    });
  }

  add(text: string): Promise<ServerInfo> {
    return this.#change(async () => {
      if (this.#entries.length >= SERVERS_MAX)
        throw new CommandFailure(`evenkeel up runs at most ${SERVERS_MAX} servers`, 1);
      const spec = parseServerSpec(text, this.#options.common);
      const entry = newEntry(this.#newId(), spec, this.#preferredPort(this.#entries.length));
      this.#entries.push(entry);
      try {
        await this.#launch(entry);
      } catch (thrown) {
        await this.#drop(entry);
        throw thrown;
      }
      await this.#waitForPeers();
      return this.#infoOf(entry);
    });
  }

  remove(id: string): Promise<ServerInfo> {
    return this.#change(async () => {
      const entry = this.#find(id);
      const info = this.#infoOf(entry);
      await this.#halt(entry);
      await this.#drop(entry);
      return info;
    });
  }

  /**
   * Restarts the server as another release with the same ID and port. Unless forced, rejects a rollback if the older
   * release cannot read or does not serve some stored objects.
   */
  upgrade(id: string, text: string, { force }: { readonly force: boolean }): Promise<ServerInfo> {
    return this.#change(async () => {
      const entry = this.#find(id);
      const spec = parseServerSpec(text, this.#options.common);
      if (!force)
        await this.#options.guardRollback({ id, from: entry.spec, to: spec, through: this.#runningBackend(entry) });
      await this.#halt(entry);
      entry.spec = spec;
      await this.#launch(entry);
      await this.#waitForPeers();
      return this.#infoOf(entry);
    });
  }

  fault(fault: Fault, id: string): Promise<ServerInfo> {
    return this.#change(async () => {
      const entry = this.#find(id);
      if (entry.state === "killed")
        throw new CommandFailure(`${id} was killed: restart it with evenkeel upgrade ${id} ${entry.spec.text}`, 1);
      await this.#injectFault(fault, entry);
      this.#options.onChange();
      return this.#infoOf(entry);
    });
  }

  /** Stops the servers one by one; a server that does not stop in time is killed. */
  async stop(): Promise<void> {
    this.#isClosing = true;
    await this.#lastChange.catch(() => {});
    for (const entry of this.#entries) await this.#halt(entry);
  }

  killAll(): void {
    for (const { member } of this.#entries) void member?.kill();
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#lastChange
      .catch(() => {})
      .then(() => {
        if (this.#isClosing) throw new CommandFailure("the cluster is stopping", 1);
        return work();
      });
    this.#lastChange = next;
    return next;
  }

  async #launch(entry: Entry): Promise<void> {
    entry.state = "starting";
    try {
      await this.#begin(entry);
    } catch (thrown) {
      entry.state = "killed";
      await entry.member?.kill();
      throw thrown;
    }
    entry.state = "running";
    this.#applyPartitions();
    await this.#options.balancer.setBackends(this.#backends());
    this.#options.print(`${entry.id} (Kubernetes ${entry.spec.text}) is ready at https://${HOST}:${entry.port}`);
    this.#options.onChange();
  }

  async #begin(entry: Entry): Promise<void> {
    if (!(await isFree(entry.port))) entry.port = 0;
    const member = await this.#options.start(this.#launchOf(entry));
    entry.member = member;
    entry.port = member.port;
    void member.ended.then((how) => this.#ended(entry, member, how));
    this.#remember();
    await within(READY_MS, member.ready, `${entry.id} was not ready after ${READY_MS / 1000} s`);
  }

  /**
   * A server is ready before its peers have read its discovery document, so the cluster waits until all servers can
   * proxy to each other.
   */
  async #waitForPeers(): Promise<void> {
    if (!this.#isProxyOn()) return;
    const met = this.#entries.filter(({ state, isPartitioned }) => state === "running" && !isPartitioned);
    const backends = met.map(({ id, port }) => ({ id, host: HOST, port }));
    const until = performance.now() + PEERS_READY_MS;
    const knowsAll = async (backend: Backend): Promise<boolean> => {
      const seen = await this.#options.peersOf(backend).catch((): readonly SeenServer[] => []);
      const usable = new Set(seen.filter(({ isUsable }) => isUsable).map(({ id }) => id));
      return backends.every(({ id }) => id === backend.id || usable.has(id));
    };
    let isDone = false;
    while (!isDone && performance.now() < until) {
      isDone = (await Promise.all(backends.map(knowsAll))).every(Boolean);
      if (!isDone) await delay(MEET_POLL_MS);
    }
    if (!isDone) this.#options.print("Some servers cannot proxy requests to each other yet: see evenkeel status.");
  }

  #isProxyOn(): boolean {
    const off = /(^|,)UnknownVersionInteroperabilityProxy=(false|f|0)/i;
    return !(this.#options.common.featureGates ?? []).some((text) => off.test(text));
  }

  #launchOf({ id, spec, port }: Entry): Launch {
    const { credentials, storage, common, hostname, balancer, address } = this.#options;
    const { caFile, frontProxyCertFile: certFile, frontProxyKeyFile: keyFile } = credentials;
    const options: ServerOptions = {
      release: spec.release,
      runtimeConfig: spec.runtimeConfig,
      ...common,
      storage,
      tokenFile: credentials.tokenFile,
      serviceAccounts: { signingKey: credentials.serviceAccountKey },
      ifReadyMode: "retry",
      clientCa: credentials.ca.certPem,
      rootCa: credentials.ca.certPem,
      requestHeader: { clientCa: credentials.frontProxyCa.certPem, allowedNames: [FRONT_PROXY_NAME] },
      peers: { ...common.peers, serverId: id, hostname, ...(this.#isProxyOn() ? { caFile, certFile, keyFile } : {}) },
      // All servers listen on the loopback address. Other machines reach them only through the load balancer.
      advertise: { address, port: balancer.port },
    };
    return { id, options, port, cert: credentials.serving.certPem, key: credentials.serving.keyPem };
  }

  /** Stops the server of this entry gracefully, or kills it if it does not stop in time. */
  async #halt(entry: Entry): Promise<void> {
    const { member, state } = entry;
    entry.member = undefined;
    if (member === undefined || state === "killed") return;
    entry.state = "stopping";
    this.#options.onChange();
    // A paused server is resumed first, because it cannot shut down gracefully.
    if (state === "paused") member.resume();
    try {
      await within(STOP_MS, member.stop(), `${entry.id} did not stop`);
    } catch (thrown) {
      this.#options.print(`${thrown instanceof Error ? thrown.message : String(thrown)}; it was killed`);
      await member.kill();
    }
  }

  async #injectFault(fault: Fault, entry: Entry): Promise<void> {
    switch (fault) {
      case "kill":
        entry.state = "killed";
        await entry.member?.kill();
        await this.#options.balancer.checkAll();
        return;
      case "pause":
        entry.member?.pause();
        entry.state = "paused";
        return;
      case "resume":
        entry.member?.resume();
        entry.state = "running";
        return;
      case "partition":
      case "heal":
        entry.isPartitioned = fault === "partition";
        this.#applyPartitions();
    }
  }

  /** Makes a partitioned server unreachable for its peers, and its peers for the server. */
  #applyPartitions(): void {
    for (const entry of this.#entries) {
      const unreachable = this.#entries.filter(
        (other) => other !== entry && (entry.isPartitioned || other.isPartitioned),
      );
      entry.member?.setUnreachable(unreachable.map(({ port }) => `${HOST}:${port}`));
    }
  }

  #ended(entry: Entry, member: RunningServer, how: string): void {
    if (entry.member !== member) return;
    entry.state = "killed";
    this.#options.print(`${entry.id} ${how}`);
    this.#options.onChange();
  }

  async #drop(entry: Entry): Promise<void> {
    await entry.member?.kill();
    this.#entries = this.#entries.filter((other) => other !== entry);
    void this.#options.balancer.setBackends(this.#backends());
    this.#applyPartitions();
    this.#remember();
    this.#options.onChange();
  }

  #remember(): void {
    const { directory, credentials, balancer } = this.#options;
    const servers = this.#entries.map(({ id, spec, port }) => ({ id, spec: spec.text, port }));
    writeState(directory, { port: balancer.port, nextNumber: this.#nextNumber, servers });
    writeClusterKubeconfig(directory, credentials, [
      { name: "evenkeel", url: this.balancerUrl },
      ...servers.map(({ id, port }) => ({ name: id, url: `https://${HOST}:${port}` })),
    ]);
  }

  #backends(): { id: string; host: string; port: number }[] {
    const there = this.#entries.filter(({ state }) => state !== "starting" && state !== "killed");
    return there.map(({ id, port }) => ({ id, host: HOST, port }));
  }

  /** The server itself if it is running; otherwise another running server. */
  #runningBackend(entry: Entry): Backend | undefined {
    const running = [entry, ...this.#entries].find(({ state }) => state === "running");
    return running && { id: running.id, host: HOST, port: running.port };
  }

  #infoOf(entry: Entry): ServerInfo {
    return must(
      this.servers().find(({ id }) => id === entry.id),
      "the entry is one of the servers",
    );
  }

  #find(id: string): Entry {
    const entry = this.#entries.find((candidate) => candidate.id === id);
    if (entry !== undefined) return entry;
    const known = this.#entries.map((one) => one.id).join(", ");
    throw new CommandFailure(`no server ${JSON.stringify(id)}: the servers are ${known}`, 1);
  }

  #newId(): string {
    return `apiserver-${this.#nextNumber++}`;
  }

  #preferredPort(index: number): number {
    const { firstPort } = this.#options;
    const preferred = firstPort === undefined ? 0 : firstPort + index;
    return preferred <= 65_535 && !this.#entries.some(({ port }) => port === preferred) ? preferred : 0;
  }
}

function newEntry(id: string, spec: ServerSpec, port: number): Entry {
  return { id, spec, port, member: undefined, state: "starting", isPartitioned: false };
}

function isFree(port: number): Promise<boolean> {
  if (port === 0) return Promise.resolve(true);
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: HOST, port }, () => server.close(() => resolve(true)));
  });
}

function within<T>(timeMs: number, work: Promise<T>, sentence: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new CommandFailure(sentence, 1)), timeMs);
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
