/** A simulated cluster: servers of mixed releases on one store, with virtual time and a simulated network. */
import { type PeerTiming, DEFAULT_PEER_TIMING } from "../../cluster/peers/timing.ts";
import type { StoreBackup } from "../../storage/kv-memory/store.ts";
import { StoreHistory } from "./history.ts";
import { Network, NO_FAULTS, type ProxiedRequest, type NetworkOptions } from "./network.ts";
import { createPeerCertificate } from "./peer-certificate.ts";
import { SimulatedServer, type Run, type RunOptions, type ServerContext } from "./server.ts";
import { STORE_IS_FINE } from "./store-link.ts";
import { Trace } from "./trace.ts";
import { World } from "./world.ts";

/** Deliberate bugs that a test plants, to prove that checkers find them. */
export type Plant = Pick<NetworkOptions, "tamper"> & Pick<ServerContext, "wrapHandle" | "wrapKv" | "wrapClock">;

export interface SimulateOptions {
  readonly seed: number;
  readonly timing?: Partial<PeerTiming>;
  readonly plant?: Plant;
  readonly traceLinesMax?: number;
  readonly onHop?: (hop: ProxiedRequest) => void;
  /** Called when a run of a server has started. */
  readonly onRun?: (run: Run) => void;
  /** Called if a listener of the store history fails. */
  readonly onFailure?: (thrown: unknown) => void;
}

/** Long enough for a lease to expire and for all servers to exchange their discovery documents. */
const SETTLE_MS = 60_000;

export class SimulatedCluster {
  readonly world: World;
  readonly history: StoreHistory;
  readonly network: Network;
  readonly trace: Trace;
  readonly timing: PeerTiming;
  readonly servers: SimulatedServer[] = [];
  /** Every run of a server so far, including those that have ended. */
  readonly runs: Run[] = [];
  readonly #context: ServerContext;

  constructor(options: SimulateOptions) {
    const { seed, timing = {}, plant = {}, traceLinesMax = 1_000, onHop = () => {}, onFailure = () => {} } = options;
    const { onRun = () => {} } = options;
    const world = new World({ seed, onStandstill: () => this.shutDown() });
    const { clock } = world;
    const certificate = createPeerCertificate(clock.now());
    this.world = world;
    this.history = new StoreHistory({ clock, kv: world.openKv(), onFailure });
    this.trace = new Trace({ monotonic: () => clock.monotonic(), keepMax: traceLinesMax });
    this.timing = { ...DEFAULT_PEER_TIMING, ...timing };
    this.network = new Network({ clock, random: world.randomFor("network"), certificate, onHop, ...plant });
    this.#context = {
      world,
      certificate,
      timing,
      network: this.network,
      trace: this.trace,
      ...plant,
      history: this.history,
      onRun: (run) => {
        this.runs.push(run);
        onRun(run);
      },
    };
  }

  /** Adds a server that is not started yet. */
  place(id: string = `server-${this.servers.length + 1}`): SimulatedServer {
    const server = new SimulatedServer(this.#context, { id, ip: `10.1.0.${this.servers.length + 1}` });
    this.servers.push(server);
    return server;
  }

  /** Adds and starts a server. Resolves when it is ready. */
  async addServer(options: RunOptions & { readonly id?: string }): Promise<SimulatedServer> {
    const server = this.place(options.id);
    await this.restart(server, options);
    return server;
  }

  async restart(server: SimulatedServer, options: RunOptions): Promise<void> {
    const { server: running } = await server.start(options);
    await this.world.run(running.ready);
    await this.advance({ seconds: 0 });
  }

  async stop(server: SimulatedServer): Promise<void> {
    await this.world.run(server.stop());
  }

  /** Blocks messages in one direction; they arrive when the partition is healed. */
  partition(from: SimulatedServer, to: SimulatedServer): void {
    this.trace.add(from.id, `cannot reach ${to.id}`);
    this.network.links.block(from.id, to.id);
  }

  /**
   * Restores the store from a backup of `world.backUpStore` while the servers run, as an operator restores etcd from a
   * snapshot. All writes since the backup are lost. The backup must be of the current history: another one would begin
   * with writes that the checkers have forgotten.
   */
  restoreStore(backup: StoreBackup): void {
    this.trace.add("world", `the store is restored to revision ${backup.revision}`);
    this.history.restore(backup, () => this.world.restoreStore(backup));
  }

  /** Ends all network and store faults and pauses. Crashed servers stay down. */
  heal(): void {
    this.trace.add("world", "heals");
    this.network.rates = NO_FAULTS;
    this.network.links.delay = { minMs: 1, maxMs: 5 };
    this.network.links.unblockAll();
    for (const server of this.servers) {
      server.crashAt(undefined);
      server.setStoreFault(STORE_IS_FINE);
      server.resume();
    }
  }

  async advance(by: { readonly seconds: number }): Promise<void> {
    await this.world.advance(by.seconds * 1000);
  }

  /** Ends all faults and waits until all servers know each other. */
  async settle(): Promise<void> {
    this.heal();
    await this.world.advance(SETTLE_MS);
  }

  /** Servers that are running and not stopping. */
  get live(): readonly SimulatedServer[] {
    return this.servers.filter(({ run }) => run !== undefined && run.endedAtMs === undefined);
  }

  /** Crashes all servers, so that nothing keeps running. */
  shutDown(): void {
    for (const server of this.servers) server.crash();
  }
}

export function simulate(options: SimulateOptions): SimulatedCluster {
  return new SimulatedCluster(options);
}
